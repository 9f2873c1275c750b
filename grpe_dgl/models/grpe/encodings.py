"""The learned encodings of distances and edges."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from grpe_dgl.errors import InputError
from grpe_dgl.relations import Relations


class Tables(NamedTuple):
    """What `relative_attention` looks up per relation: shape (R, H, D) each, None where a term is switched off."""

    query: Tensor | None
    key: Tensor | None
    value: Tensor | None


class RelationEncodings(nn.Module):
    r"""Six tables, P over distances and E over edges, for query, key and value, joined into one row per relation.

    For relation r, which is the distance psi_r and the edge e_r: T[r] = P[psi_r] + E[e_r]. A table that is switched off
    does not exist.

    Parameters
    ----------
    max_distance, num_edge_types
        L and E of `grpe_dgl.relations.Relations`: P has L + 4 rows, E has E + 3.
    hidden_size
        Columns of every table; each head owns a slice of D = hidden_size / num_heads.
    num_heads
        H.
    topology_attention, edge_attention
        Whether attention scores use distances (P for query and key) and edges (E for query and key).
    graph_value
        Whether values use both (P and E for value).
    """

    def __init__(
        self,
        max_distance: int,
        num_edge_types: int,
        hidden_size: int,
        num_heads: int,
        *,
        topology_attention: bool = True,
        edge_attention: bool = True,
        graph_value: bool = True,
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise InputError(f"hidden_size is {hidden_size} and num_heads {num_heads}; accepted: heads that divide it")
        relations = Relations(max_distance, num_edge_types)
        self.num_heads = num_heads
        self.register_buffer("spd_of_relation", torch.from_numpy(relations.spd_of_relation()), persistent=False)
        self.register_buffer("edge_of_relation", torch.from_numpy(relations.edge_of_relation()), persistent=False)

        def table(rows: int, wanted: bool) -> nn.Embedding | None:
            return nn.Embedding(rows, hidden_size) if wanted else None

        self.query_spd = table(relations.num_spd, topology_attention)
        self.key_spd = table(relations.num_spd, topology_attention)
        self.value_spd = table(relations.num_spd, graph_value)
        self.query_edge = table(relations.num_edge, edge_attention)
        self.key_edge = table(relations.num_edge, edge_attention)
        self.value_edge = table(relations.num_edge, graph_value)

    def forward(self) -> Tables:
        """Return the tables for the current weights, (R, H, D) each."""
        return Tables(
            query=self._join(self.query_spd, self.query_edge),
            key=self._join(self.key_spd, self.key_edge),
            value=self._join(self.value_spd, self.value_edge),
        )

    def _join(self, spd: nn.Embedding | None, edge: nn.Embedding | None) -> Tensor | None:
        rows = []
        if spd is not None:
            rows.append(spd(self.spd_of_relation))
        if edge is not None:
            rows.append(edge(self.edge_of_relation))
        return sum(rows[1:], rows[0]).unflatten(-1, (self.num_heads, -1)) if rows else None  # (R, H, D)
