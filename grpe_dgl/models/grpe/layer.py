"""One block of the transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from grpe_dgl.models.grpe.attention import GRPEAttention
from grpe_dgl.models.grpe.encodings import Tables
from grpe_dgl.ops import DensePairs
from grpe_dgl.ops.recomputation import recomputed
from grpe_dgl.ops.residual_dropout import residual_dropout
from grpe_dgl.ops.transformer_block import BlockWeights, FusedPairs, transformer_block

if TYPE_CHECKING:
    import dgl


class GRPELayer(nn.Module):
    r"""Pre-norm transformer block with relative attention.

    ::

        x = x + Dropout(Attention(LayerNorm(x)))
        x = x + Dropout(FFN(LayerNorm(x)))        FFN = Linear, exact GELU, Linear

    Parameters
    ----------
    hidden_size, num_heads
        Width of x and number of heads.
    ffn_size
        Width inside the FFN.
    dropout
        Dropout of both branches, in training only.
    attention_dropout, key_term, backend
        See `grpe_dgl.nn.GRPEAttention`.

    Examples
    --------
    >>> import dgl, torch
    >>> from grpe_dgl.nn import GRPELayer, RelationEncodings
    >>> from grpe_dgl.transforms import ToPairGraph
    >>> pairs = ToPairGraph(max_distance=5, num_edge_types=1)(dgl.rand_graph(7, 10))
    >>> encodings = RelationEncodings(5, 1, hidden_size=16, num_heads=4)
    >>> layer = GRPELayer(hidden_size=16, num_heads=4, ffn_size=32)
    >>> layer(pairs, torch.randn(7, 16), encodings()).shape
    torch.Size([7, 16])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        ffn_size: int,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        key_term: str = "neighbour",
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.attention = GRPEAttention(
            hidden_size, num_heads, attention_dropout=attention_dropout, key_term=key_term, backend=backend
        )
        self.ffn_norm = nn.LayerNorm(hidden_size)
        self.ffn = nn.Sequential(nn.Linear(hidden_size, ffn_size), nn.GELU(), nn.Linear(ffn_size, hidden_size))
        self.dropout = dropout

    def forward(self, pairs: dgl.DGLGraph | DensePairs | FusedPairs, x: Tensor, tables: Tables) -> Tensor:
        """Return the block's output, of the shape of x, for x (N, hidden_size) and the tables of `RelationEncodings`.

        With `DensePairs` in place of a pair graph, x is a padded batch, (B, N, hidden_size). With `FusedPairs` the
        block is computed as one operation, `grpe_dgl.ops.transformer_block`.
        """
        dropout = self.dropout if self.training else 0.0
        if isinstance(pairs, FusedPairs):
            attention = self.attention
            return transformer_block(
                pairs,
                x,
                BlockWeights(*(weight for part in self._parts() for weight in (part.weight, part.bias))),
                tables,
                num_heads=attention.num_heads,
                key_term=attention.key_term,
                dropout=dropout,
                attention_dropout=attention.attention_dropout if self.training else 0.0,
                eps=(self.attention_norm.eps, self.ffn_norm.eps),
            )
        normed = self.attention_norm(x)
        with recomputed(normed, self.attention_norm, x):
            update = self.attention(pairs, normed, tables)
        x = residual_dropout(x, update, dropout)
        return residual_dropout(x, self._ffn(x), dropout)

    def is_plain(self, dtype: torch.dtype) -> bool:
        """Whether one operation may compute the block: its parts are of the usual classes and have no hooks."""
        kinds = nn.LayerNorm, nn.Linear, nn.Linear, nn.LayerNorm, nn.Linear, nn.Linear
        parts = self._parts()
        return (
            all(type(part) is kind for part, kind in zip(parts, kinds, strict=True))
            and type(self.ffn[1]) is nn.GELU
            and parts[0].weight.dtype == dtype
            and not any(_has_hooks(module) for module in (self, self.attention, self.ffn, self.ffn[1], *parts))
        )

    def _parts(self) -> tuple[nn.Module, ...]:
        """Return the modules with weights, in the order of `BlockWeights`."""
        widen, _, narrow = self.ffn
        attention = self.attention
        return self.attention_norm, attention.query_key_value, attention.output, self.ffn_norm, widen, narrow

    def _ffn(self, x: Tensor) -> Tensor:
        widen, activate, narrow = self.ffn
        normed = self.ffn_norm(x)
        with recomputed(normed, self.ffn_norm, x):
            wide = widen(normed)
        active = activate(wide)
        with recomputed(active, activate, wide):
            update: Tensor = narrow(active)
        return update


def _has_hooks(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )
