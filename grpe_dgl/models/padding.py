"""Between the ragged nodes and pairs of a batched pair graph and padded tensors."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

Positions = Tensor | None


class Padding(NamedTuple):
    """B graphs of up to N nodes: where their nodes and pairs stand in padded tensors.

    Layers keep nodes ragged, (nodes, width), so that linear maps, norms and dropout spend nothing on padding; only
    attention pads. Of a batch that is padded already, all maps here return what they get.
    """

    mask: Tensor
    """(B, N) bool: True where a node is not padding."""
    nodes: Positions = None
    """(nodes,) int64: each node's row in (B * N, ...); None for a batch that is padded already."""
    pairs: Positions = None
    """(pairs,) int64: each pair's row in (B * N * N, ...), query by query with keys ascending; None as above."""

    @property
    def counted(self) -> Tensor | None:
        """`mask` for a batch that is padded already, whose statistics must leave out padding; None for ragged nodes."""
        return self.mask if self.nodes is None else None

    @classmethod
    def of_sizes(cls, sizes: Tensor) -> Self:
        """Return the padding of complete pair graphs with the given numbers of nodes, (B,)."""
        most = int(sizes.max()) if len(sizes) else 0
        mask = torch.arange(most, device=sizes.device) < sizes.unsqueeze(-1)
        pairs = mask.unsqueeze(-1) & mask.unsqueeze(-2)
        return cls(mask, mask.flatten().nonzero().squeeze(-1), pairs.flatten().nonzero().squeeze(-1))

    def pad(self, x: Tensor) -> Tensor:
        """Return nodes' values (nodes, ...) as (B, N, ...), zero for padding."""
        return x if self.nodes is None else _place(x, self.nodes, self.mask.shape)

    def unpad(self, x: Tensor) -> Tensor:
        """Return (B, N, ...) as (nodes, ...)."""
        return x if self.nodes is None else x.flatten(0, 1).index_select(0, self.nodes)

    def pad_pairs(self, x: Tensor) -> Tensor:
        """Return pairs' values (pairs, ...) as (B, N, N, ...), row = query, zero where a node is padding."""
        batch, most = self.mask.shape
        return x if self.pairs is None else _place(x, self.pairs, (batch, most, most))

    def unpad_pairs(self, x: Tensor) -> Tensor:
        """Return (B, N, N, ...) as (pairs, ...)."""
        return x if self.pairs is None else x.flatten(0, 2).index_select(0, self.pairs)


def read_out_padded(x: Tensor, mask: Tensor, readout: str) -> Tensor:
    """Return the sum or mean, as `readout` says, of each graph's nodes, (B, width), of x (B, N, width)."""
    counted = mask.unsqueeze(-1)
    total = x.masked_fill(~counted, 0.0).sum(1)
    return total if readout == "sum" else total / counted.sum(1)


def _place(x: Tensor, position: Tensor, shape: tuple[int, ...] | torch.Size) -> Tensor:
    rows = 1
    for size in shape:
        rows *= size
    return x.new_zeros(rows, *x.shape[1:]).index_copy(0, position, x).view(*shape, *x.shape[1:])
