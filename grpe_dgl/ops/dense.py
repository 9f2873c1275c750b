"""Relative attention as padded batches in plain torch: for any device, for `torch.compile` and for export."""

import math
from typing import NamedTuple

import dgl
import torch
from torch import Tensor
from torch.nn import functional as F

from grpe_dgl.ops.completeness import relations_in_order
from grpe_dgl.ops.inputs import AttentionInputs
from grpe_dgl.ops.per_graph import PerGraph


class DensePairs(NamedTuple):
    """The pairs of a padded batch, for models that run without a DGLGraph; B graphs of up to N nodes."""

    relation: Tensor
    """(B, N, N) int64: at (i, j), query i and key j, 0..R-1; any of them where a node is padding."""
    mask: Tensor
    """(B, N) bool: True where a node is real."""


class Padding(NamedTuple):
    """The padded batch of a pair graph: B graphs of up to N nodes."""

    pairs: DensePairs
    position: Tensor
    """(nodes,): the row of each node in (B * N, ...)."""


def padded_attention(pairs: DensePairs, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (B, N, H, D), for padded q, k, v; zero for padding.

    No value of a tensor is read in Python, so that the function can be traced, compiled and exported.
    """
    num_heads, head_size = inputs.q.shape[-2:]
    q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))  # (B, H, N, D) each
    query_table, key_table, value_table = inputs.tables
    by_key = key_table is not None and inputs.key_term == "neighbour"
    relation = pairs.relation.unsqueeze(1).expand(-1, num_heads, -1, -1)  # (B, H, N, N)

    def products(x: Tensor, table: Tensor) -> Tensor:
        return x @ table.permute(1, 2, 0)  # (B, H, N, R)

    scores = q @ k.transpose(-1, -2)  # (B, H, N, N)
    if query_table is not None:
        of_query = products(q, query_table)
        if key_table is not None and not by_key:
            of_query = of_query + products(k, key_table)
        scores = scores + of_query.gather(-1, relation)
    elif key_table is not None and not by_key:
        scores = scores + products(k, key_table).gather(-1, relation)
    if key_table is not None and by_key:
        # The products of key j at r(i, j): looked up key by key, then transposed.
        scores = scores + products(k, key_table).gather(-1, relation.transpose(-1, -2)).transpose(-1, -2)
    scores = scores / math.sqrt(head_size)
    # Finite, so that a graph that is all padding gives zeros and not NaN.
    scores = scores.masked_fill(~pairs.mask[:, None, None, :], torch.finfo(scores.dtype).min)
    weights = F.dropout(scores.softmax(-1), inputs.dropout)

    z = weights @ v.to(weights.dtype)  # (B, H, N, D)
    if value_table is not None:
        mass = weights.new_zeros(*weights.shape[:-1], len(value_table)).scatter_add(-1, relation, weights)
        z = z + mass @ value_table.transpose(0, 1).to(mass.dtype)
    return (z * pairs.mask[:, None, :, None]).transpose(1, 2).to(q.dtype)  # (B, N, H, D)


def dense_attention(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D), computed by `padded_attention`."""
    padding = _padding_of(pairs)
    batch, most = padding.pairs.mask.shape

    def pad(x: Tensor) -> Tensor:
        flat = x.new_zeros(batch * most, *x.shape[1:]).index_copy(0, padding.position, x)
        return flat.view(batch, most, *x.shape[1:])

    padded = inputs._replace(q=pad(inputs.q), k=pad(inputs.k), v=pad(inputs.v))
    return padded_attention(padding.pairs, padded).flatten(0, 1).index_select(0, padding.position)


def _find_padding(pairs: dgl.DGLGraph) -> Padding:
    relation = relations_in_order(pairs, "dense").long()
    sizes = pairs.batch_num_nodes().long()  # (B,)
    most = int(sizes.max()) if len(sizes) else 0
    mask = torch.arange(most, device=sizes.device) < sizes.unsqueeze(-1)  # (B, N)
    padded = relation.new_zeros(len(sizes), most, most)
    padded[mask.unsqueeze(-1) & mask.unsqueeze(-2)] = relation
    return Padding(DensePairs(padded, mask), mask.flatten().nonzero().squeeze(-1))


_padding_of = PerGraph(_find_padding)
