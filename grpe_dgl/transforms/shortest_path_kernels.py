"""The searches of `grpe_dgl.transforms.shortest_paths`, compiled."""

import numba
import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.relations import UNREACHABLE

DENSE = 8  # edges per node from which sets of bits are searched faster than lists of neighbours


@compiled(parallel=True)
def fill_parallel(node_offsets, edge_offsets, pair_offsets, src, dst, limit, undirected, distances):  # type: ignore[no-untyped-def]
    """Fill the distances of every graph on several threads."""
    for graph in numba.prange(len(node_offsets) - 1):
        first, last = edge_offsets[graph], edge_offsets[graph + 1]
        _fill_graph(
            node_offsets[graph + 1] - node_offsets[graph],
            src[first:last],
            dst[first:last],
            limit,
            undirected,
            distances[pair_offsets[graph] : pair_offsets[graph + 1]],
        )


# A function of its own: numba's disk cache does not tell apart two ways of compiling the same one.
@compiled()
def fill_serial(node_offsets, edge_offsets, pair_offsets, src, dst, limit, undirected, distances):  # type: ignore[no-untyped-def]
    """Fill the distances of every graph on one thread."""
    for graph in range(len(node_offsets) - 1):
        first, last = edge_offsets[graph], edge_offsets[graph + 1]
        _fill_graph(
            node_offsets[graph + 1] - node_offsets[graph],
            src[first:last],
            dst[first:last],
            limit,
            undirected,
            distances[pair_offsets[graph] : pair_offsets[graph + 1]],
        )


@compiled()
def _fill_graph(n, src, dst, limit, undirected, distances):  # type: ignore[no-untyped-def]
    """Fill the graph's n x n distances, row by row."""
    if len(src) >= DENSE * n:
        _search_bits(n, src, dst, limit, undirected, distances)
    else:
        _search_lists(n, src, dst, limit, undirected, distances)


@compiled()
def _search_bits(n, src, dst, limit, undirected, distances):  # type: ignore[no-untyped-def]
    """Level by level, test for every node not yet found whether any of its neighbours is in the last level.

    Neighbours and levels are sets of bits, so that a test takes n / 64 steps. With many edges most nodes are found
    in two or three levels.
    """
    words = (n + 63) // 64
    one = np.uint64(1)
    neighbours = np.zeros((n, words), np.uint64)  # where edges of a node lead: a search backwards comes from there
    for e in range(len(src)):
        neighbours[src[e], dst[e] // 64] |= one << np.uint64(dst[e] % 64)
        if undirected:
            neighbours[dst[e], src[e] // 64] |= one << np.uint64(src[e] % 64)
    level, following = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for i in range(n):
        row = distances[i * n : (i + 1) * n]
        row[:] = UNREACHABLE
        row[i] = 0
        level[:] = 0
        level[i // 64] = one << np.uint64(i % 64)
        to_find, found, distance = n - 1, 1, 0
        while found and to_find:
            distance = min(distance + 1, limit + 1)
            following[:] = 0
            found = 0
            for j in range(n):
                if row[j] == UNREACHABLE:
                    shared = np.uint64(0)
                    for word in range(words):
                        shared |= neighbours[j, word] & level[word]
                    if shared:
                        row[j] = distance
                        following[j // 64] |= one << np.uint64(j % 64)
                        found += 1
            level, following = following, level
            to_find -= found


@compiled()
def _search_lists(n, src, dst, limit, undirected, distances):  # type: ignore[no-untyped-def]
    """Breadth-first search backwards from every node i, which fills row i."""
    indptr, indices = _in_neighbours(n, src, dst, undirected)
    # In an undirected graph everything of i's component is reached, so what the search leaves is FAR if it lies in the
    # component and the search can stop as soon as the component is complete. A directed search must run to its end.
    component, component_size = _components(n, indptr, indices, undirected)
    queue = np.empty(n, np.int64)
    seen_from = np.full(n, -1, np.int64)  # the last i whose search visited it; no clearing between searches
    for i in range(n):
        row = distances[i * n : (i + 1) * n]
        for j in range(n):
            row[j] = limit + 1 if undirected and component[j] == component[i] else UNREACHABLE
        to_find = component_size[component[i]] - 1
        seen_from[i] = i
        row[i] = 0
        queue[0] = i
        head, tail, distance = 0, 1, 0
        while head < tail and to_find > 0 and not (undirected and distance == limit):
            distance = min(distance + 1, limit + 1)
            level_end = tail
            while head < level_end and to_find > 0:
                node = queue[head]
                head += 1
                for e in range(indptr[node], indptr[node + 1]):
                    neighbour = indices[e]
                    if seen_from[neighbour] != i:
                        seen_from[neighbour] = i
                        row[neighbour] = distance
                        queue[tail] = neighbour
                        tail += 1
                        to_find -= 1


@compiled()
def _in_neighbours(n, src, dst, undirected):  # type: ignore[no-untyped-def]
    """Return the graph's incoming neighbours as CSR: those of node i are indices[indptr[i]:indptr[i + 1]]."""
    indptr = np.zeros(n + 1, np.int64)
    for e in range(len(src)):
        indptr[dst[e] + 1] += 1
        if undirected:
            indptr[src[e] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    indices = np.empty(indptr[n], np.int64)
    cursor = indptr[:-1].copy()
    for e in range(len(src)):
        indices[cursor[dst[e]]] = src[e]
        cursor[dst[e]] += 1
        if undirected:
            indices[cursor[src[e]]] = dst[e]
            cursor[src[e]] += 1
    return _without_duplicates(n, indptr, indices)


@compiled()
def _without_duplicates(n, indptr, indices):  # type: ignore[no-untyped-def]
    """Return the CSR with every neighbour once: graphs often give both directions of an edge."""
    seen_from = np.full(n, -1, np.int64)
    kept, first = 0, 0
    for i in range(n):
        last = indptr[i + 1]
        for e in range(first, last):
            if seen_from[indices[e]] != i:
                seen_from[indices[e]] = i
                indices[kept] = indices[e]
                kept += 1
        first = last
        indptr[i + 1] = kept
    return indptr, indices


@compiled()
def _components(n, indptr, indices, undirected):  # type: ignore[no-untyped-def]
    """Return each node's component and each component's size; of a directed graph, one component holding all."""
    component = np.full(n, -1 if undirected else 0, np.int64)
    size = np.zeros(max(n, 1), np.int64)
    if not undirected:
        size[0] = n
        return component, size
    queue = np.empty(n, np.int64)
    count = 0
    for start in range(n):
        if component[start] >= 0:
            continue
        component[start] = count
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for e in range(indptr[node], indptr[node + 1]):
                if component[indices[e]] < 0:
                    component[indices[e]] = count
                    queue[tail] = indices[e]
                    tail += 1
        size[count] = tail
        count += 1
    return component, size
