"""Relative attention as padded batches in plain torch: for any device, for `torch.compile` and for export."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from grpe_dgl.ops.completeness import relations_in_order
from grpe_dgl.ops.inputs import AttentionInputs
from grpe_dgl.ops.per_graph import PerGraph
from grpe_dgl.ops.recomputation import recomputed

if TYPE_CHECKING:
    import dgl


class DensePairs(NamedTuple):
    """The pairs of a padded batch, for models that run without a DGLGraph; B graphs of up to N nodes."""

    relation: Tensor
    """(B, N, N) integer: at (i, j), query i and key j, 0..R-1; any of them where a node is padding. Best int64: every
    layer looks up with it, and another type is converted by each."""
    mask: Tensor
    """(B, N) bool: True where a node is real."""


class Padding(NamedTuple):
    """The padded batch of a pair graph: B graphs of up to N nodes."""

    pairs: DensePairs
    position: Tensor
    """(nodes,): the row of each node in (B * N, ...)."""


def padded_attention(pairs: DensePairs, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (B, N, H, D), for padded q, k, v; zero for padding.

    No value of a tensor is read in Python, so that the function can be traced, compiled and exported, and no device
    waits for the host. For the backward pass it keeps, of shape (B, H, N, N), the weights before dropout and the bytes
    of the dropout mask; the weights after dropout and their sums per relation are made again. Of operands in half
    precision the softmax is computed in float32.
    """
    head_size = inputs.q.shape[-1]
    q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))  # (B, H, N, D) each
    relation = pairs.relation.long().unsqueeze(1).expand(-1, q.shape[1], -1, -1)  # (B, H, N, N)
    scores = _scores(q, k, inputs, relation).div_(math.sqrt(head_size))
    # Finite, so that a graph that is all padding gives zeros and not NaN.
    scores = scores.masked_fill_(~pairs.mask[:, None, None, :], torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
    del scores
    drop = _dropout(weights, inputs.dropout)

    def to_products(weights: Tensor) -> Tensor:
        return drop(weights).to(v.dtype)

    applied = to_products(weights)
    with recomputed(applied, to_products, weights):
        z = applied @ v  # (B, H, N, D)
    del applied
    value_table = inputs.value_table
    if value_table is not None:
        num_relations = len(value_table)

        def sum_by_relation(weights: Tensor) -> Tensor:
            mass = weights.new_zeros(*weights.shape[:-1], num_relations)
            return mass.scatter_add(-1, relation, drop(weights)).to(v.dtype)  # (B, H, N, R)

        mass = sum_by_relation(weights)
        with recomputed(mass, sum_by_relation, weights):
            z = z + mass @ value_table.transpose(0, 1).to(mass.dtype)
    return (z * pairs.mask[:, None, :, None]).transpose(1, 2).to(q.dtype)  # (B, N, H, D)


def _scores(q: Tensor, k: Tensor, inputs: AttentionInputs, relation: Tensor) -> Tensor:
    """Return the scores before they are scaled, (B, H, N, N), in a tensor of their own."""
    query_table, key_table, _ = inputs.tables
    by_key = key_table is not None and inputs.key_term == "neighbour"

    def products(x: Tensor, table: Tensor) -> Tensor:
        return x @ table.permute(1, 2, 0)  # (B, H, N, R)

    scores = q @ k.transpose(-1, -2)
    of_query = [products(q, query_table)] if query_table is not None else []
    if key_table is not None and not by_key:
        of_query.append(products(k, key_table))
    if of_query:
        scores += sum(of_query[1:], of_query[0]).gather(-1, relation)
    if key_table is not None and by_key:
        # The products of key j at r(i, j): looked up key by key, then transposed.
        scores += products(k, key_table).gather(-1, relation.transpose(-1, -2)).transpose(-1, -2)
    return scores


def _dropout(weights: Tensor, dropout: float) -> Callable[[Tensor], Tensor]:
    """Return dropout as a function that drops the same weights each time it is called; it keeps a byte for each."""
    if dropout == 0.0:
        return lambda weights: weights
    keep = torch.empty_like(weights, dtype=torch.bool).bernoulli_(1.0 - dropout)
    return lambda weights: weights * keep / (1.0 - dropout)


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
