"""Relative attention as one CPU kernel (numba) that stores nothing per pair and head."""

from grpe_dgl.ops.fused.operation import fused_attention

__all__ = ["fused_attention"]
