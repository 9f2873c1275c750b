"""What Graphormer adds to the attention scores: distances, the edges along paths, and the graph token's pairs."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.graphormer.settings import COLUMN_ROWS, TableRows
from grpe_dgl.models.padding import Padding
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema


class PairBias(nn.Module):
    r"""The bias of every pair (i, j) in every head, shared by all layers.

    ::

        bias(i, j) = distance[d(i, j)] + sum_k edge(path(i, j)_k) W_k / max(1, min(d(i, j), K))

    with K = `path_edges`, edge(c) the mean of the edge columns' rows, (H,), and W_k a matrix (H, H) per hop. Pairs that
    involve the graph token have `token_distance` instead. Distances over 252 (tables ``zinc``: 37) share a row; in the
    table of ``ogb`` pairs without a path have the last row, in that of ``zinc`` they share the row of far pairs.

    Parameters
    ----------
    schema
        Of the data.
    rows
        How many rows the tables have.
    num_heads
        H.
    relations
        The codes of the pair graph.
    path_edges
        K.
    """

    edge_rows: Tensor  # (E, edge columns): the rows of every edge type
    distance_rows: Tensor  # (R,): the row of the table of distances of every relation
    divisor: Tensor  # (R,)

    def __init__(self, schema: Schema, rows: TableRows, num_heads: int, relations: Relations, path_edges: int) -> None:
        super().__init__()
        self.relations = relations
        self.path_edges = path_edges
        self.distance = nn.Embedding(rows.distances, num_heads)
        self.edge = nn.Embedding(rows.edges, num_heads)
        self.hop = nn.Parameter(torch.empty(rows.hops, num_heads, num_heads))
        self.token_distance = nn.Parameter(torch.empty(num_heads))
        columns = schema.decode_edges(np.arange(schema.num_edge_types))
        edge_rows = torch.from_numpy(np.stack([column + 3 + COLUMN_ROWS * f for f, column in enumerate(columns)], -1))
        spd = torch.from_numpy(relations.spd_of_relation())
        distance_rows = (spd + 1).clamp(max=rows.distances - 1)
        distance_rows[spd == relations.spd_unreachable] = rows.distances - 1
        self.register_buffer("edge_rows", edge_rows, persistent=False)
        self.register_buffer("distance_rows", distance_rows, persistent=False)
        self.register_buffer("divisor", spd.clamp(1, path_edges), persistent=False)

    def forward(self, padding: Padding, relation: Tensor, token: Tensor, path: Tensor) -> Tensor:
        """Return (B, H, N, N), minus infinity for keys that are padding.

        Parameters
        ----------
        padding
            The batch's.
        relation
            (pairs,) or (B, N, N) integer.
        token
            Of that shape, bool: which pairs involve the graph token.
        path
            The same with K edge types each, E after the path's end.
        """
        types = self.edge(self.edge_rows).mean(1)  # (E, H)
        hops = types @ self.hop[: self.path_edges]  # (K, E, H)
        table = F.pad(hops, (0, 0, 0, 1))  # with a row of zeros for paths that have ended
        along = _sum_along(path, table) / self.divisor[relation.long()].unsqueeze(-1)
        bias = self.distance(self.distance_rows)[relation.long()] + along
        bias = torch.where(token.unsqueeze(-1), self.token_distance.to(bias.dtype), bias)
        bias = padding.pad_pairs(bias).permute(0, 3, 1, 2)  # (B, H, N, N)
        return bias.masked_fill(~padding.mask[:, None, None, :], float("-inf"))


def _sum_along(path: Tensor, table: Tensor) -> Tensor:
    """Return sum_k table[k, path[..., k]], (..., H), for a table (K, E + 1, H)."""
    if path.dim() == 2:
        first_row = torch.arange(len(table), device=path.device, dtype=path.dtype) * table.shape[1]
        return F.embedding_bag(path + first_row, table.flatten(0, 1), mode="sum")
    # ONNX has no embedding_bag: hop by hop.
    total = F.embedding(path[..., 0], table[0])
    for hop in range(1, len(table)):
        total = total + F.embedding(path[..., hop], table[hop])
    return total
