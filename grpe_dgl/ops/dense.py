"""Relative attention as padded batches in plain torch: for any device, for `torch.compile` and for export."""

import math
from typing import NamedTuple

import dgl
import torch
from torch import Tensor
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.ops.per_graph import PerGraph


class DensePairs(NamedTuple):
    """The pairs of a padded batch, for models that run without a DGLGraph; B graphs of up to N nodes."""

    relation: Tensor
    """(B, N, N) int64: at (i, j), query i and key j, 0..R-1; anything in that range where a node is padding."""
    mask: Tensor
    """(B, N) bool: True where a node is real."""


class Padding(NamedTuple):
    """How the ragged nodes of a pair graph lie in a padded batch of B graphs of N nodes."""

    pairs: DensePairs
    position: Tensor
    """(nodes,): the row of each node in (B * N, ...)."""


def padded_attention(
    pairs: DensePairs,
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
    """Return z of `grpe_dgl.ops.relative_attention` for padded q, k, v, shape (B, N, H, D); zero where it is padding.

    The other arguments are that function's own. Nothing here looks at the data from Python, so that the function can
    be traced, compiled and exported.
    """
    num_heads, head_size = q.shape[-2:]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # (B, H, N, D) each
    by_key = key_table is not None and key_term == "neighbour"
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
        # Key j's products at r(i, j): looked up key by key, then turned around.
        scores = scores + products(k, key_table).gather(-1, relation.transpose(-1, -2)).transpose(-1, -2)
    scores = scores / math.sqrt(head_size)
    # Finite, so that a graph that is all padding gives zeros and not NaN.
    scores = scores.masked_fill(~pairs.mask[:, None, None, :], torch.finfo(scores.dtype).min)
    weights = F.dropout(scores.softmax(-1), dropout)

    z = weights @ v.to(weights.dtype)  # (B, H, N, D)
    if value_table is not None:
        mass = weights.new_zeros(*weights.shape[:-1], len(value_table)).scatter_add(-1, relation, weights)
        z = z + mass @ value_table.transpose(0, 1).to(mass.dtype)
    return (z * pairs.mask[:, None, :, None]).transpose(1, 2).to(q.dtype)  # (B, N, H, D)


def dense_attention(
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
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D), by way of `padded_attention`."""
    padding = _paddings(pairs)
    if padding is None:
        raise InputError(
            'the pair graph is not complete; backend "dense" needs every pair of each graph '
            '(grpe_dgl.transforms.ToPairGraph makes them), use backend "dgl" or "auto"'
        )
    batch, most = padding.pairs.mask.shape

    def pad(x: Tensor) -> Tensor:
        flat = x.new_zeros(batch * most, *x.shape[1:]).index_copy(0, padding.position, x)
        return flat.view(batch, most, *x.shape[1:])

    z = padded_attention(
        padding.pairs,
        pad(q),
        pad(k),
        pad(v),
        query_table,
        key_table,
        value_table,
        key_term=key_term,
        dropout=dropout,
    )
    return z.flatten(0, 1).index_select(0, padding.position)


def _padding_of(pairs: dgl.DGLGraph) -> Padding | None:
    """Return how the graph is padded, or None if it is not complete."""
    sizes = pairs.batch_num_nodes().long()
    if int(sizes.sum()) != pairs.num_nodes() or int((sizes * sizes).sum()) != pairs.num_edges():
        return None
    batch, most = len(sizes), int(sizes.max()) if len(sizes) else 0
    graph = torch.arange(batch, device=sizes.device).repeat_interleave(sizes)  # (nodes,)
    own = torch.arange(len(graph), device=sizes.device) - (sizes.cumsum(0) - sizes)[graph]  # number within the graph
    key, query = (end.long() for end in pairs.edges(order="eid"))
    relation = torch.full((batch, most, most), -1, device=sizes.device)
    relation[graph[query], own[query], own[key]] = pairs.edata["relation"].long()
    mask = torch.arange(most, device=sizes.device) < sizes.unsqueeze(-1)  # (B, N)
    # As many edges as pairs, and no pair without one: then each has exactly one, if none joins two graphs.
    missing = (relation < 0) & mask.unsqueeze(-1) & mask.unsqueeze(-2)
    if bool(missing.any()) or bool((graph[key] != graph[query]).any()):
        return None
    return Padding(DensePairs(relation.clamp(min=0), mask), graph * most + own)


_paddings = PerGraph(_padding_of)
