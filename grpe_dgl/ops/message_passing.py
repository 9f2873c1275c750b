r"""Relative attention as DGL message passing: the method as the paper states it, for any pair graph.

The paper (Eq. 6-9) scores a query i and a key j, in every head on its own, by their distance psi and their edge e::

    a_ij = (q_i . k_j + q_i . P^query[psi] + k_j . P^key[psi] + q_i . E^query[e] + k_j . E^key[e]) / sqrt(D)
    w_ij = softmax over j of a_ij, then dropout
    z_i  = sum_j w_ij (v_j + P^value[psi] + E^value[e])

Written so, a score takes four lookups. It takes two here, because the pair (psi, e) is one relation r of a small set
(`grpe_dgl.relations`) and the rows are added first, once per relation and not once per pair: with one table per use,
T[r] = P[psi_r] + E[e_r],

    q_i . P^query[psi] + q_i . E^query[e] = q_i . T^query[r]        one lookup by the query
    k_j . P^key[psi]   + k_j . E^key[e]   = k_j . T^key[r]          one lookup by the key

The two cannot become one: the first depends on (i, r) and the second on (j, r). With ``key_term="self"`` the second is
k_i . T^key[r]. Symbols and arguments: T^query, T^key, T^value are `query_table`, `key_table`, `value_table`, (R, H, D).
"""

import math

import dgl
import torch
from dgl.ops import edge_softmax, u_dot_v, u_mul_e_sum
from torch import Tensor
from torch.nn import functional as F

from grpe_dgl.ops.inputs import AttentionInputs


def message_passing_attention(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D)."""
    value_table = inputs.value_table
    num_nodes, num_heads, head_size = inputs.v.shape
    weights = F.dropout(attention_weights(pairs, inputs), inputs.dropout)
    z = u_mul_e_sum(pairs, _wide(inputs.v), weights.unsqueeze(-1))[..., :head_size]  # (N, H, D)
    if value_table is not None:
        num_relations = len(value_table)
        query = pairs.edges(order="eid")[1].long()  # (M,): dst = i
        mass = weights.new_zeros(num_nodes * num_relations, num_heads)
        mass = mass.index_add(0, query * num_relations + pairs.edata["relation"].long(), weights)
        z = z + torch.einsum("nrh,rhd->nhd", mass.view(num_nodes, num_relations, num_heads), value_table)
    return z


def attention_weights(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> Tensor:
    """Return w before dropout, shape (M, H), in the order of the pair graph's edges; v and its table are not read."""
    q, k = inputs.q, inputs.k
    query_table, key_table, _ = inputs.tables
    key, query = (node.long() for node in pairs.edges(order="eid"))  # (M,) each: src = j, dst = i
    relation = pairs.edata["relation"].long()  # (M,)

    def lookup(x: Tensor, table: Tensor, node: Tensor) -> Tensor:
        """Return x[node] . table[relation] of every pair, from one product per node and relation."""
        products = torch.einsum("nhd,rhd->nrh", x, table)  # (N, R, H)
        return products.flatten(0, 1).index_select(0, node * len(table) + relation)  # (M, H)

    scores = u_dot_v(pairs, _wide(k), _wide(q)).squeeze(-1)  # (M, H)
    if query_table is not None:
        scores = scores + lookup(q, query_table, query)
    if key_table is not None:
        scores = scores + lookup(k, key_table, key if inputs.key_term == "neighbour" else query)
    return edge_softmax(pairs, scores / math.sqrt(q.shape[-1]))  # (M, H), over the keys of each query


def _wide(x: Tensor) -> Tensor:
    """Return x with D > 1: for D = 1 nothing is broadcast, and DGL's product then needs explicit edge numbers."""
    return x if x.shape[-1] > 1 else F.pad(x, (0, 1))
