"""The pair graph's structure: every ordered pair of nodes of every graph of a batch, made by arithmetic."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.relations import Relations

if TYPE_CHECKING:
    import dgl

LARGE = 4 << 30
"""Bytes: a pair graph that takes more gets a warning before it is built."""


def attach_codes(pairs: dgl.DGLGraph, relations: Relations) -> None:
    """Set ``ndata["codes"]``, (N, 2) int32: the max_distance and num_edge_types that the pairs were coded with.

    Node data is what DGL carries through batching, unbatching and slicing, so that a model can refuse a batch of pair
    graphs whose codes are not its own.
    """
    codes = torch.tensor([[relations.max_distance, relations.num_edge_types]], dtype=torch.int32, device=pairs.device)
    pairs.ndata["codes"] = codes.repeat(pairs.num_nodes(), 1)  # memory of its own: node data may be written to


def require_codes(pairs: dgl.DGLGraph, relations: Relations) -> None:
    """Raise if a pair graph was coded with another max_distance or num_edge_types than `relations`.

    A pair graph without ``ndata["codes"]``, which no transform of ours made, is taken as it is.
    """
    if "codes" not in pairs.ndata:
        return
    codes = pairs.ndata["codes"]
    own = (relations.max_distance, relations.num_edge_types)
    wrong = (codes != codes.new_tensor(own)).any(-1)
    if wrong.any():
        max_distance, num_edge_types = codes[wrong][0].tolist()
        raise InputError(
            f"the pair graph was made with max_distance {max_distance} and num_edge_types {num_edge_types}, the model "
            f"with {own[0]} and {own[1]}; accepted: the same"
        )


def require_room(nodes_per_graph: Tensor, *, codes: int, index_bytes: int) -> None:
    """Warn before a pair graph of several GB is built; raise if it is larger than the machine's memory.

    Parameters
    ----------
    nodes_per_graph
        Shape (graphs,), integer.
    codes
        How many arrays of int32 it gets per pair.
    index_bytes
        Of its index type.
    """
    num_pairs = int((nodes_per_graph.to(torch.int64) ** 2).sum())
    # While it is built: the distance, the relation and each code, and the keys, as int64 and in the index type.
    size = num_pairs * (1 + 4 + 4 * codes + 8 + index_bytes)
    if size <= LARGE:
        return
    largest = int(nodes_per_graph.max())
    what = f"the pair graph of {num_pairs:,} pairs (largest graph: {largest:,} nodes) takes {size / 1e9:,.1f} GB"
    memory = _memory()
    if memory is not None and size > memory:
        raise InputError(f"{what}, and this machine has {memory / 1e9:,.1f} GB; accepted: smaller graphs or batches")
    warnings.warn(what, stacklevel=3)


def _memory() -> int | None:
    """Return the bytes of main memory; None where the system does not report them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def complete_pairs(nodes_per_graph: Tensor, *, idtype: torch.dtype = torch.int64) -> dgl.DGLGraph:
    """Return the batched complete pair graph of graphs with the given numbers of nodes, without data.

    Edges run key -> query (src = j, dst = i), query by query with keys ascending, so that pair (i, j) of a graph of n
    nodes is its edge i * n + j. The graph is built as CSC, whose arrays follow from the sizes alone.

    Parameters
    ----------
    nodes_per_graph
        Shape (graphs,), integer; its device becomes the graph's.
    idtype
        The graph's index type, ``torch.int32`` or ``torch.int64``.

    Returns
    -------
    dgl.DGLGraph
        N = sum of n nodes and M = sum of n * n edges, batched graph by graph.
    """
    import dgl  # here for start-up time: models import `require_codes`

    nodes_per_graph = nodes_per_graph.to(torch.int64)
    pairs_per_graph = nodes_per_graph * nodes_per_graph
    keys_of_query = nodes_per_graph.repeat_interleave(nodes_per_graph)  # (N,)
    indptr = torch.cat([keys_of_query.new_zeros(1), keys_of_query.cumsum(0)])  # (N + 1,)
    # Key j of a query is its graph's first node + j: the pair's own number less the number of its query's first pair.
    first_node = (nodes_per_graph.cumsum(0) - nodes_per_graph).repeat_interleave(nodes_per_graph)  # (N,)
    keys = torch.arange(int(indptr[-1]), device=indptr.device)
    keys += (first_node - indptr[:-1]).repeat_interleave(keys_of_query)  # (M,)
    graph = dgl.graph(
        ("csc", (indptr.to(idtype), keys.to(idtype), keys.new_empty(0).to(idtype))),
        num_nodes=len(keys_of_query),
        idtype=idtype,
        device=indptr.device,
    )
    graph.set_batch_num_nodes(nodes_per_graph.to(idtype))
    graph.set_batch_num_edges(pairs_per_graph.to(idtype))
    return graph
