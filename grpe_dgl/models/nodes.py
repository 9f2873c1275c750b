"""From node features to the vectors the first layer takes."""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema


class NodeColumns(nn.Module):
    """Embed integer columns: the sum over columns f of the row for value x[f] of column f.

    Parameters
    ----------
    sizes
        How many values each column has; column f takes 0..sizes[f]-1.
    hidden_size
        Width of the result.
    """

    first_row: Tensor  # (columns,): where each column's rows begin

    def __init__(self, sizes: Sequence[int], hidden_size: int) -> None:
        super().__init__()
        if not sizes or min(sizes) < 1:
            raise InputError(
                f"node_vocabulary is {tuple(sizes)}; accepted: at least one column, each of 1 value or more"
            )
        self.sizes = tuple(sizes)
        self.embedding = nn.Embedding(sum(sizes), hidden_size)
        first_row = torch.tensor([0, *accumulate(self.sizes[:-1])])
        self.register_buffer("first_row", first_row, persistent=False)

    def forward(self, feat: Tensor) -> Tensor:
        """Return (..., hidden_size) for integer `feat` of shape (..., columns)."""
        return self.embedding(feat + self.first_row).sum(-2)

    def check(self, feat: Tensor) -> Tensor:
        """Return ``ndata["feat"]`` as (N, columns) int64, or raise if it does not fit."""
        if feat.is_floating_point() or feat.dtype == torch.bool:
            raise InputError(f'ndata["feat"] has dtype {feat.dtype}; this model takes integer columns')
        feat = (feat.unsqueeze(-1) if feat.dim() == 1 else feat).long()
        if feat.shape[1:] != (len(self.sizes),):
            raise InputError(f'ndata["feat"] has shape {tuple(feat.shape)}; accepted: (N, {len(self.sizes)})')
        wrong = ((feat < 0) | (feat >= feat.new_tensor(self.sizes))).nonzero()
        if len(wrong):
            node, column = wrong[0].tolist()
            raise InputError(
                f'ndata["feat"] is {int(feat[node, column])} at node {node}, column {column}; '
                f"accepted: 0..{self.sizes[column] - 1}"
            )
        return feat


class NodeVectors(nn.Linear):
    """Embed continuous features: a linear map from `node_features` numbers to `hidden_size`."""

    def check(self, feat: Tensor) -> Tensor:
        """Return ``ndata["feat"]`` as (N, node_features) of the map's dtype, or raise if it does not fit."""
        feat = feat.unsqueeze(-1) if feat.dim() == 1 else feat
        if feat.shape[1:] != (self.in_features,):
            raise InputError(f'ndata["feat"] has shape {tuple(feat.shape)}; accepted: (N, {self.in_features})')
        return feat.to(self.weight.dtype)


def node_input(schema: Schema, hidden_size: int) -> NodeColumns | NodeVectors:
    """Return the embedding of a schema's node features."""
    if schema.node_vocabulary is not None:
        return NodeColumns(schema.node_vocabulary, hidden_size)
    return NodeVectors(int(schema.node_features or 0), hidden_size)
