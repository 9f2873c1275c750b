"""The attention of GRPE as one operation."""

from grpe_dgl.ops.relative_attention import relative_attention

__all__ = ["relative_attention"]
