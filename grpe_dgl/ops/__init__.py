"""The attention of GRPE as one operation."""

from grpe_dgl.ops.backends import BACKENDS
from grpe_dgl.ops.dense import DensePairs
from grpe_dgl.ops.relative_attention import relative_attention

__all__ = ["BACKENDS", "DensePairs", "relative_attention"]
