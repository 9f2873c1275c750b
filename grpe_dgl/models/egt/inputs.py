"""What EGT's first layer takes: the pairs' states, and the virtual nodes among nodes and pairs."""

from itertools import accumulate

import numpy as np
import torch
from torch import Tensor, nn

from grpe_dgl.models.egt.settings import EGTSettings, relations_of
from grpe_dgl.schema import Schema


class PairStates(nn.Module):
    """The first state of every pair, one row of a table that is made of the weights once per forward pass.

    The state of a real pair is the vector of its distance plus, if there is an edge, the sum of its columns' rows. With
    distances ``within`` and L = max_distance, a pair at distance d has the sum of the vectors of "within k hops" for
    k = max(d, 1)..L, and a common bias; with ``exact`` the row min(d, L + 1). Pairs without a path are as far ones. A
    pair of a real node and virtual node v has v's vector, a pair of two virtual nodes the mean of theirs.

    Parameters
    ----------
    settings, schema
        Of the model and its data.
    """

    edge_rows: Tensor  # (E, edge columns)
    distance: Tensor  # (R,)

    def __init__(self, settings: EGTSettings, schema: Schema) -> None:
        super().__init__()
        size = settings.edge_size
        self.relations = relations_of(settings, schema)
        self.virtual = nn.Parameter(torch.randn(settings.virtual_nodes, size)) if settings.virtual_nodes else None
        self.exact = nn.Embedding(settings.max_distance + 2, size) if settings.distances == "exact" else None
        self.within = nn.Linear(settings.max_distance, size) if settings.distances == "within" else None
        self.edge = None
        _, columns = settings.column_sizes(schema)
        if settings.edge_features:
            self.edge = nn.Embedding(1 + sum(columns), size, padding_idx=None if settings.no_edge_row else 0)
        first_row = np.array([*accumulate([1, *columns[:-1]])])
        values = np.stack(schema.decode_edges(np.arange(schema.num_edge_types)), -1)  # torch's would load its compiler
        self.register_buffer("edge_rows", torch.from_numpy(values + first_row), persistent=False)
        spd = torch.from_numpy(self.relations.spd_of_relation()).clamp(max=settings.max_distance + 1)
        self.register_buffer("distance", spd, persistent=False)

    @property
    def num_virtual(self) -> int:
        """V: how many virtual nodes a graph has."""
        return 0 if self.virtual is None else len(self.virtual)

    def table(self) -> Tensor:
        """Return the rows of all codes of `codes`: R real ones, then V, then V * V; (codes, edge_size)."""
        if self.exact is not None:
            distance = self.exact.weight
        else:
            assert self.within is not None
            from_hop = self.within.weight.T.flip(0).cumsum(0).flip(0)  # (L, edge_size): the sum over k and more hops
            distance = torch.cat([from_hop[:1], from_hop, torch.zeros_like(from_hop[:1])]) + self.within.bias
        rows = distance[self.distance]
        if self.edge is not None:
            none = self.edge(self.edge_rows.new_zeros(1)).expand(len(rows) - len(self.edge_rows), -1)
            rows = rows + torch.cat([self.edge(self.edge_rows).sum(1), none])
        if self.virtual is None:
            return rows
        both = (self.virtual.unsqueeze(1) + self.virtual) / 2
        return torch.cat([rows, self.virtual, both.flatten(0, 1)])

    def codes(self, relation: Tensor) -> Tensor:
        """Return the code of every pair, (B, V + N, V + N) int64, of relations (B, N, N), virtual nodes first."""
        relation = relation.long()
        count, known = self.num_virtual, len(self.relations)
        if not count:
            return relation
        batch, nodes = relation.shape[:2]
        number = torch.arange(count, device=relation.device)
        single = (known + number)[:, None].expand(batch, count, nodes)
        both = (known + count + number[:, None] * count + number).expand(batch, count, count)
        upper = torch.cat([both, single], 2)
        return torch.cat([upper, torch.cat([single.transpose(1, 2), relation], 2)], 1)
