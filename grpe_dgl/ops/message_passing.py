"""Relative attention as DGL message passing: the readable statement of the method, for any pair graph."""

import math

import dgl
import torch
from dgl.ops import edge_softmax, u_dot_v, u_mul_e_sum
from torch import Tensor
from torch.nn import functional as F


def message_passing_attention(
    pairs: dgl.DGLGraph,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    query_table: Tensor | None,
    key_table: Tensor | None,
    value_table: Tensor | None,
    *,
    key_term: str,
    dropout: float,
) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D); the arguments are its own."""
    num_nodes, num_heads, head_size = q.shape
    key, query = (node.long() for node in pairs.edges(order="eid"))  # (M,) each: src = j, dst = i
    relation = pairs.edata["relation"].long()  # (M,)

    def wide(x: Tensor) -> Tensor:
        """Return x with D > 1: DGL's product of vectors with numbers needs edge numbers if neither is broadcast."""
        return x if head_size > 1 else F.pad(x, (0, 1))

    def lookup(x: Tensor, table: Tensor, node: Tensor) -> Tensor:
        """Return x[node] . table[relation] of every pair, from one product per node and relation."""
        products = torch.einsum("nhd,rhd->nrh", x, table)  # (N, R, H)
        return products.flatten(0, 1).index_select(0, node * len(table) + relation)  # (M, H)

    scores = u_dot_v(pairs, wide(k), wide(q)).squeeze(-1)  # (M, H)
    if query_table is not None:
        scores = scores + lookup(q, query_table, query)
    if key_table is not None:
        scores = scores + lookup(k, key_table, key if key_term == "neighbour" else query)
    weights = edge_softmax(pairs, scores / math.sqrt(head_size))  # (M, H), over the keys of each query
    weights = F.dropout(weights, dropout)

    z = u_mul_e_sum(pairs, wide(v), weights.unsqueeze(-1))[..., :head_size]  # (N, H, D)
    if value_table is not None:
        num_relations = len(value_table)
        mass = weights.new_zeros(num_nodes * num_relations, num_heads)
        mass = mass.index_add(0, query * num_relations + relation, weights).view(num_nodes, num_relations, num_heads)
        z = z + torch.einsum("nrh,rhd->nhd", mass, value_table)
    return z
