"""From the code of an edge to the vector a layer takes."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError


class EdgeColumns(nn.Module):
    """Embed edges: the sum over columns c of the row for the edge's value of column c.

    An edge is one code, its columns read as a mixed-radix number (`grpe_dgl.schema.Schema.decode_edges`). The sum is
    computed once per code instead of once per edge.

    Parameters
    ----------
    sizes
        How many values each column has.
    hidden_size
        Width of the result.
    """

    rows: Tensor  # (codes, columns): the rows of `embedding` whose sum is the vector of a code

    def __init__(self, sizes: Sequence[int], hidden_size: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.embedding = nn.Embedding(sum(sizes), hidden_size)
        init_columns(self.embedding, self.sizes)
        code = torch.arange(prod(sizes))
        rows, first = [], sum(sizes)
        for size in reversed(self.sizes):
            first -= size
            rows.append(first + code % size)
            code = code // size
        self.register_buffer("rows", torch.stack(rows[::-1], -1), persistent=False)

    def forward(self, code: Tensor) -> Tensor:
        """Return (edges, hidden_size) for codes (edges,)."""
        return F.embedding(code.long(), self.embedding(self.rows).sum(1))

    def check(self, code: Tensor) -> Tensor:
        """Return ``edata["feat"]`` as (edges,) int64, or raise if it does not fit."""
        if code.is_floating_point() or code.dtype == torch.bool or code.dim() != 1:
            raise InputError(f'edata["feat"] is {code.dtype} {tuple(code.shape)}; accepted: (edges,) of integer codes')
        wrong = ((code < 0) | (code >= len(self.rows))).nonzero()
        if len(wrong):
            edge = int(wrong[0])
            raise InputError(f'edata["feat"] is {int(code[edge])} at edge {edge}; accepted: 0..{len(self.rows) - 1}')
        return code.long()


def init_columns(embedding: nn.Embedding, sizes: Sequence[int]) -> None:
    """Initialise each column's rows of a joint table with Xavier's uniform distribution, as OGB's encoders are."""
    with torch.no_grad():
        for rows in embedding.weight.split(list(sizes)):
            nn.init.xavier_uniform_(rows)
