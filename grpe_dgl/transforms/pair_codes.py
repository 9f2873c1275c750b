"""The rule that turns distances and edges into the relation of every pair, written once for transforms and batches."""

import numpy as np

from grpe_dgl.kernels.decorator import compiled


@compiled(inner=True)
def fill_relations(  # type: ignore[no-untyped-def]
    n, extra, distance, src, dst, edge_type, undirected, relation_of_distance, own, virtual, relation
):
    """Write the relation of every ordered pair of one graph; return whether every edge fits the graph.

    An edge fits if its ends are nodes of the graph and its type is below `own`, the number of types. The distances are
    bytes, so they are within `relation_of_distance`.

    Parameters
    ----------
    n, extra
        Real nodes, and virtual nodes before them (0 or 1).
    distance
        (n * n,): the distance byte of pair (query i, key j) at i * n + j.
    src, dst, edge_type
        (edges,) each: the ends, 0..n-1, and the types. Self-loops are ignored. Of duplicate edges the first gives the
        type, and where both directions are given each keeps its own.
    undirected
        Whether an edge given in one direction counts in both.
    relation_of_distance
        (256,): the relation of a pair without an edge, by its distance byte.
    own, virtual
        The relation of a node with itself, and of a pair that involves the virtual node.
    relation
        (size * size,) with size = n + extra: the result.
    """
    fits = True
    for e in range(len(src)):  # without branches, so that it costs next to nothing
        begin, end, code = np.int64(src[e]), np.int64(dst[e]), np.int64(edge_type[e])
        fits &= (begin >= 0) & (begin < n) & (end >= 0) & (end < n) & (code >= 0) & (code < own)
    if not fits:
        return False
    size = n + extra
    if extra:
        relation[:size] = virtual
    for i in range(n):
        row = (i + extra) * size
        if extra:
            relation[row] = virtual
        for j in range(n):
            relation[row + extra + j] = relation_of_distance[distance[i * n + j]]
    # Backwards, so that of duplicate edges the first is written last, and an edge's own direction after its mirror's.
    for mirrored in range(1 if undirected else 0, -1, -1):
        for e in range(len(src) - 1, -1, -1):
            query, key = np.int64(dst[e]), np.int64(src[e])
            if mirrored:
                query, key = key, query
            if query != key:
                relation[(query + extra) * size + key + extra] = edge_type[e]
    for i in range(size):
        relation[i * size + i] = own
    return True
