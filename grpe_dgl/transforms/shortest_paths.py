"""All-pairs shortest-path distances of many small graphs at once, one byte per pair."""

import numpy as np
import numpy.typing as npt

from grpe_dgl.kernels.decorator import worth_loading
from grpe_dgl.offsets import offsets_of
from grpe_dgl.relations import LARGEST_DISTANCE, UNREACHABLE

FEW_STEPS = 1 << 24
"""Sum of n ** 3 up to which numpy finds the distances faster than numba is loaded: some hundred molecules."""


def all_pairs_distances(
    node_offsets: npt.NDArray[np.int64],
    edge_offsets: npt.NDArray[np.int64],
    src: npt.NDArray[np.int64],
    dst: npt.NDArray[np.int64],
    *,
    limit: int = LARGEST_DISTANCE,
    undirected: bool = True,
    parallel: bool = True,
) -> npt.NDArray[np.uint8]:
    """Return the distance of every ordered pair of nodes of every graph.

    Pair (i, j) of a graph of n nodes lies at i * n + j after the pairs of the graphs before it and holds the length of
    the shortest path from j to i: exact up to `limit`, ``limit + 1`` where it is longer, ``UNREACHABLE`` where there
    is none. Self-loops and duplicate edges change nothing.

    Parameters
    ----------
    node_offsets, edge_offsets
        Where each graph's nodes and edges begin, and the ends of the last, shape (graphs + 1,) each.
    src, dst
        The edges, numbered within their graph from 0, shape (edges,) each.
    limit
        The largest distance stored exactly, at most 253. The search goes no further.
    undirected
        Whether an edge can be walked in both directions.
    parallel
        Whether to use several threads; worker processes, one per core already, do not.

    Returns
    -------
    numpy.ndarray
        Shape (M,), uint8, with M the sum of n * n over the graphs.
    """
    pair_offsets = offsets_of(np.diff(node_offsets) ** 2)
    distances = np.empty(pair_offsets[-1], np.uint8)
    arguments = (node_offsets, edge_offsets, pair_offsets, src, dst, limit, undirected, distances)
    if not worth_loading(int((np.diff(node_offsets) ** 3).sum()), FEW_STEPS):
        _fill_few(*arguments)
        return distances
    from grpe_dgl.kernels.threads import as_many_threads_as_torch
    from grpe_dgl.transforms.shortest_path_kernels import fill_parallel, fill_serial

    if parallel:
        with as_many_threads_as_torch():
            fill_parallel(*arguments)
    else:
        fill_serial(*arguments)
    return distances


def _fill_few(
    node_offsets: npt.NDArray[np.int64],
    edge_offsets: npt.NDArray[np.int64],
    pair_offsets: npt.NDArray[np.int64],
    src: npt.NDArray[np.int64],
    dst: npt.NDArray[np.int64],
    limit: int,
    undirected: bool,
    distances: npt.NDArray[np.uint8],
) -> None:
    """Fill the distances of every graph without numba: from level to level for all pairs of a graph at once."""
    for graph in range(len(node_offsets) - 1):
        n = int(node_offsets[graph + 1] - node_offsets[graph])
        edges = slice(edge_offsets[graph], edge_offsets[graph + 1])
        step = np.zeros((n, n), np.float32)  # (i, k): an edge leads from k to i
        step[dst[edges], src[edges]] = 1.0
        if undirected:
            step[src[edges], dst[edges]] = 1.0
        found = distances[pair_offsets[graph] : pair_offsets[graph + 1]].reshape(n, n)
        found[:] = UNREACHABLE
        level = np.eye(n, dtype=bool)  # (i, j): the pairs whose distance was found last
        distance = 0
        while level.any():
            found[level] = distance
            distance = min(distance + 1, limit + 1)
            level = (step @ level.astype(np.float32) > 0) & (found == UNREACHABLE)
