"""How the pairs of a graph are divided over threads, computed once and kept as long as the graph exists."""

from typing import NamedTuple

import dgl
import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.offsets import offsets_of
from grpe_dgl.ops.completeness import relations_in_order
from grpe_dgl.ops.fused.products import ROWS
from grpe_dgl.ops.per_graph import PerGraph

Integers = npt.NDArray[np.int64]
ROW_COST = 10  # the cost of a query besides its keys, in keys: loading it, its lookups, writing it back


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
    """The relations that occur in each graph. Tables may have many rows that a graph does not use."""


class PairStructure(NamedTuple):
    """The part of a plan that does not depend on the number of threads, and the plans made so far."""

    node_offsets: Integers
    pair_offsets: Integers
    relation: npt.NDArray[np.int32]
    used_offsets: Integers
    used: Integers
    plans: dict[int, Plan]
    """By the number of threads."""


def plan_of(pairs: dgl.DGLGraph, threads: int) -> Plan:
    """Return the plan of a pair graph, which must be complete."""
    structure = _structure_of(pairs)
    if threads not in structure.plans:
        structure.plans[threads] = _divide(structure, threads)
    return structure.plans[threads]


def first_query_plan(pairs: dgl.DGLGraph, threads: int) -> Plan:
    """Return the plan in which the first node of every graph of a complete pair graph is the only query."""
    return _first_queries(_structure_of(pairs), threads)


def plans_of_groups(pairs: dgl.DGLGraph, most_nodes: int, threads: int) -> list[tuple[int, int, Plan, Plan]]:
    """Divide the graphs of a complete pair graph, in order, into groups of at most `most_nodes` nodes or one graph.

    Return of each its first node, its last + 1, and two plans in which its nodes count from 0: of all queries, and of
    the first of every graph alone.
    """
    structure = _structure_of(pairs)
    offsets = structure.node_offsets
    groups, first = [], 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most_nodes, side="right")) - 1)
        graphs = slice(first, last + 1)
        part = structure._replace(
            node_offsets=offsets[graphs] - offsets[first],
            pair_offsets=structure.pair_offsets[graphs],
            used_offsets=structure.used_offsets[graphs],
        )
        plans = _divide(part, threads), _first_queries(part, threads)
        groups.append((int(offsets[first]), int(offsets[last]), *plans))
        first = last
    return groups


def _first_queries(structure: PairStructure, threads: int) -> Plan:
    every = np.arange(len(structure.node_offsets) - 1)
    pieces = np.stack([every, np.zeros_like(every), np.ones_like(every), np.full_like(every, -1)], 1)
    return Plan(len(every) * np.arange(threads + 1) // threads, pieces, *structure[:5])


def _find_structure(pairs: dgl.DGLGraph) -> PairStructure:
    relation = relations_in_order(pairs, "fused").numpy()
    smallest, largest = (int(relation.min()), int(relation.max())) if len(relation) else (0, -1)
    if smallest < 0 or largest > np.iinfo(np.int32).max:
        raise InputError(f'edata["relation"] is from {smallest} to {largest}; accepted: 0..{np.iinfo(np.int32).max}')
    sizes = pairs.batch_num_nodes().long().numpy()
    pair_offsets = offsets_of(sizes * sizes)
    local = np.empty(len(relation), np.int32)
    used_offsets = np.zeros(len(sizes) + 1, np.int64)
    used = np.empty(min(len(relation), len(sizes) * (largest + 1)), np.int64)
    _number_relations(pair_offsets, relation.astype(np.int32, copy=False), largest + 1, local, used_offsets, used)
    return PairStructure(offsets_of(sizes), pair_offsets, local, used_offsets, used[: used_offsets[-1]].copy(), {})


@compiled()
def _number_relations(pair_offsets, relation, bound, local, used_offsets, used):  # type: ignore[no-untyped-def]
    """Fill `local`, which becomes `Plan.relation`, and `used_offsets` and `used`, from relations below `bound`."""
    number = np.full(bound, -1, np.int32)  # of each relation among those that occur in the graph
    for graph in range(len(pair_offsets) - 1):
        start = count = used_offsets[graph]
        for pair in range(pair_offsets[graph], pair_offsets[graph + 1]):
            r = relation[pair]
            if number[r] < 0:
                number[r] = count - start
                used[count] = r
                count += 1
            local[pair] = number[r]
        used_offsets[graph + 1] = count
        for at in range(start, count):
            number[used[at]] = -1


def _divide(structure: PairStructure, threads: int) -> Plan:
    """Divide the queries, in order, into one share per thread of about the same cost; only its ends may cut a graph."""
    sizes = np.diff(structure.node_offsets)
    cost_until = offsets_of(sizes * (sizes + ROW_COST))
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
    return Plan(np.array(shares), np.array(pieces, np.int64).reshape(-1, 4), *structure[:5])


_structure_of = PerGraph(_find_structure)
