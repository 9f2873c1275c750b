"""What the kernels know about a pair graph, worked out once and kept as long as the graph lives."""

from typing import NamedTuple

import dgl
import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.products import ROWS
from grpe_dgl.ops.per_graph import PerGraph

Integers = npt.NDArray[np.int64]
ROW_COST = 10  # what a query costs besides its keys, in keys: fetching it, its lookups, writing it back


class Plan(NamedTuple):
    """The work of one call, divided over threads; G graphs, N nodes, M pairs, P pieces."""

    shares: Integers
    """(threads + 1,): where each thread's pieces begin."""
    pieces: Integers
    """(P, 4): graph, first query, last query + 1, and, for a graph in several pieces, its first row in the partial
    gradients of keys and values, else -1."""
    node_offsets: Integers
    """(G + 1,): where each graph's nodes begin."""
    pair_offsets: Integers
    """(G + 1,): where each graph's pairs begin."""
    relation: npt.NDArray[np.int32]
    """(M,): at i * n + j of a graph, the relation of (i, j) as an index into the graph's part of `used`."""
    used_offsets: Integers
    """(G + 1,): where each graph's part of `used` begins."""
    used: Integers
    """The relations that occur in each graph. Tables may have many rows a graph never looks at."""


class PairStructure(NamedTuple):
    """What a plan needs of the pair graph, whatever the number of threads, and the plans made so far."""

    node_offsets: Integers
    pair_offsets: Integers
    relation: npt.NDArray[np.int32]
    used_offsets: Integers
    used: Integers
    plans: dict[int, Plan]


def is_complete(pairs: dgl.DGLGraph) -> bool:
    """Return whether every query of every graph of the batch has each node of its graph as a key exactly once."""
    return _structures(pairs) is not None


def plan_of(pairs: dgl.DGLGraph, threads: int) -> Plan:
    """Return the plan for a complete pair graph."""
    structure = _structures(pairs)
    if structure is None:
        raise InputError(
            'the pair graph is not complete; backend "fused" needs every pair of each graph '
            '(grpe_dgl.transforms.ToPairGraph makes them), use backend "dgl" or "auto"'
        )
    if threads not in structure.plans:
        structure.plans[threads] = _divide(structure, threads)
    return structure.plans[threads]


def _structure(pairs: dgl.DGLGraph) -> PairStructure | None:
    sizes = pairs.batch_num_nodes().cpu().long().numpy()
    node_offsets = np.concatenate([[0], sizes.cumsum()])
    pair_offsets = np.concatenate([[0], (sizes * sizes).cumsum()])
    if node_offsets[-1] != pairs.num_nodes() or pair_offsets[-1] != pairs.num_edges():
        return None
    indptr, keys, edges = (array.long().numpy() for array in pairs.adj_tensors("csc"))
    relation = pairs.edata["relation"].long().numpy()
    smallest, largest = (int(relation.min()), int(relation.max())) if len(relation) else (0, -1)
    if smallest < 0:
        raise InputError(f'edata["relation"] has {smallest}; accepted: 0 and more')
    local = np.full(len(relation), -1, np.int32)
    used_offsets = np.zeros(len(sizes) + 1, np.int64)
    used = np.empty(min(len(relation), len(sizes) * (largest + 1)), np.int64)
    if not _fill(node_offsets, pair_offsets, indptr, keys, edges, relation, largest + 1, local, used_offsets, used):
        return None
    return PairStructure(node_offsets, pair_offsets, local, used_offsets, used[: used_offsets[-1]].copy(), {})


@compiled()
def _fill(node_offsets, pair_offsets, indptr, keys, edges, relation, bound, local, used_offsets, used):  # type: ignore[no-untyped-def]
    """Fill `local`, `used_offsets` and `used` of `Plan`; return whether the graph is complete."""
    index = np.full(bound, -1, np.int64)  # of each relation among those the graph uses
    for graph in range(len(node_offsets) - 1):
        first, n = node_offsets[graph], node_offsets[graph + 1] - node_offsets[graph]
        start = count = used_offsets[graph]
        for i in range(n):
            if indptr[first + i + 1] - indptr[first + i] != n:
                return False
            row = pair_offsets[graph] + i * n
            for at in range(indptr[first + i], indptr[first + i + 1]):
                j = keys[at] - first
                if j < 0 or j >= n or local[row + j] >= 0:
                    return False
                r = relation[edges[at] if len(edges) else at]  # DGL leaves the edge numbers out where they are in order
                if index[r] < 0:
                    index[r] = count - start
                    used[count] = r
                    count += 1
                local[row + j] = index[r]
        used_offsets[graph + 1] = count
        for at in range(start, count):
            index[used[at]] = -1
    return True


def _divide(structure: PairStructure, threads: int) -> Plan:
    """Cut the queries, in order, into one share per thread of about the same cost; only a share's ends cut a graph."""
    sizes = np.diff(structure.node_offsets)
    cost_until = np.concatenate([[0], (sizes * (sizes + ROW_COST)).cumsum()])
    cuts = []  # (graph, query) where each share begins, and the end of the last
    for thread in range(threads):
        target = cost_until[-1] * thread // threads
        graph = int(np.searchsorted(cost_until, target, side="right")) - 1
        graph = min(graph, max(len(sizes) - 1, 0))
        query = round((target - cost_until[graph]) / (sizes[graph] + ROW_COST) / ROWS) * ROWS if len(sizes) else 0
        cuts.append((graph, query) if not len(sizes) or query < sizes[graph] else (graph + 1, 0))
    cuts.append((len(sizes), 0))

    shares, pieces, partial_rows = [0], [], 0
    for (graph, query), (last_graph, last_query) in zip(cuts, cuts[1:], strict=False):
        while (graph, query) < (last_graph, last_query):
            end = int(sizes[graph]) if graph < last_graph else last_query
            whole = query == 0 and end == sizes[graph]
            pieces.append((graph, query, end, -1 if whole else partial_rows))
            partial_rows += 0 if whole else int(sizes[graph])
            graph, query = graph + 1, 0
        shares.append(len(pieces))
    return Plan(
        np.array(shares),
        np.array(pieces, np.int64).reshape(-1, 4),
        *structure[:5],
    )


_structures = PerGraph(_structure)
