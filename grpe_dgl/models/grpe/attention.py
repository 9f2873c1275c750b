"""Multi-head attention with terms for the relations between nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from grpe_dgl.errors import InputError
from grpe_dgl.models.grpe.encodings import Tables
from grpe_dgl.ops import DensePairs, relative_attention
from grpe_dgl.ops.relative_attention import relative_attention_weights

if TYPE_CHECKING:
    import dgl


class GRPEAttention(nn.Module):
    """Project to queries, keys and values, apply `grpe_dgl.ops.relative_attention`, and project back.

    Parameters
    ----------
    hidden_size
        Width of the input and output.
    num_heads
        H; the head size is D = hidden_size / num_heads.
    attention_dropout, key_term, backend
        See `grpe_dgl.ops.relative_attention`; dropout acts in training only.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        attention_dropout: float = 0.0,
        key_term: str = "neighbour",
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise InputError(f"hidden_size is {hidden_size} and num_heads {num_heads}; accepted: heads that divide it")
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.key_term = key_term
        self.backend = backend
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)

    def weights(self, pairs: dgl.DGLGraph, x: Tensor, tables: Tables) -> Tensor:
        """Return the weights with which `forward` attends, without dropout, (M, H)."""
        q, k, _ = self._project(x)
        return relative_attention_weights(pairs, q, k, tables.query, tables.key, key_term=self.key_term)

    def _project(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.query_key_value(x).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)  # (N, H, D) each

    def forward(self, pairs: dgl.DGLGraph | DensePairs, x: Tensor, tables: Tables) -> Tensor:
        """Attend over the pairs of `pairs`; x is (N, hidden_size), padded (B, N, hidden_size), and so is the result."""
        q, k, v = self._project(x)
        z = relative_attention(
            pairs,
            q,
            k,
            v,
            *tables,
            key_term=self.key_term,
            dropout=self.attention_dropout if self.training else 0.0,
            backend=self.backend,
        )
        return self.output(z.flatten(-2))
