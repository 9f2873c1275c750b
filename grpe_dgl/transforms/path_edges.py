r"""The edges along a shortest path of every pair of nodes, rebuilt from the distances and edges of a pair graph.

The path of pair (query i, key j) begins at i. Its first step goes to the neighbour k of i, an edge k -> i, for which
d(k, j) = d(i, j) - 1; of several such neighbours the one with the lowest number is taken, and the path goes on from k
in the same way. So paths are fixed by the graph and its numbering alone, and the rest of a path is that of (k, j)::

    path(i, j) = edge(i, k), path(k, j)

Where several shortest paths exist, the reverse pair (j, i) may have another one than (i, j).
"""

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.kernels.decorator import compiled


@compiled()
def fill_paths(num_real, extra, pair_start, distance, relation, none, path):  # type: ignore[no-untyped-def]
    """Write the edge types along the path of every pair of every graph.

    Parameters
    ----------
    num_real, extra
        (B,): real nodes of each graph, and virtual nodes before them (0 or 1), which are on no path.
    pair_start
        (B,): where each graph's distances begin.
    distance
        The distance bytes of `grpe_dgl.transforms.shortest_paths`, pair (i, j) of n nodes at i * n + j.
    relation
        (M,): the relations of all pairs, `grpe_dgl.relations`; a pair with an edge has the edge's type.
    none
        The number of edge types, which stands where a path has ended, and everywhere for pairs without a path.
    path
        (M, K): the result, the first K edges. Pairs further apart than a distance byte can tell have none.
    """
    base = 0
    length = path.shape[1]
    for graph in range(len(num_real)):
        n = num_real[graph]
        size = n + extra
        first = pair_start[graph]
        step = np.full((n, n), -1, np.int64)
        for i in range(n):
            row = base + (i + extra) * size + extra
            for k in range(n):
                if relation[row + k] < none:
                    for j in range(n):
                        if step[i, j] < 0 and distance[first + i * n + j] == distance[first + k * n + j] + 1:
                            step[i, j] = k
        path[base : base + size * size] = none
        for i in range(n):
            for j in range(n):
                pair = base + (i + extra) * size + j + extra
                at = i
                for hop in range(length):
                    if at == j or step[at, j] < 0:
                        break
                    path[pair, hop] = relation[base + (at + extra) * size + step[at, j] + extra]
                    at = step[at, j]
        base += size * size


def padded_paths(relation: Tensor, mask: Tensor, distance: Tensor, none: int, length: int) -> Tensor:
    """Return the edge types along the path of every pair of a padded batch, computed with tensors alone.

    Parameters
    ----------
    relation
        (B, N, N) int64: row = query, column = key.
    mask
        (B, N) bool: False for nodes that are on no path, virtual nodes and padding.
    distance
        (B, N, N) int64: the distance of real pairs; negative for pairs without a known path.
    none
        The number of edge types.
    length
        K: how many edges of each path.

    Returns
    -------
    Tensor
        (B, N, N, K) int64, equal to `fill_paths` for pairs of real nodes; `none` elsewhere.
    """
    real = mask.unsqueeze(-1) & mask.unsqueeze(-2)  # (B, N, N)
    edge = (relation < none) & real
    known = torch.where(real & (distance >= 0), distance, -2)
    nodes = relation.shape[-1]
    number = torch.arange(nodes, device=relation.device)
    # Query i, neighbour k, key j: (B, N, N, N).
    closer = edge.unsqueeze(-1) & (known.unsqueeze(1) + 1 == known.unsqueeze(2)) & (known.unsqueeze(1) >= 0)
    step = torch.where(closer, number[:, None], nodes).amin(2)  # (B, N, N)
    found = step < nodes
    step = torch.where(found, step, 0)
    here = number[:, None].expand_as(relation)  # the node that the path of (i, j) has reached
    path = []
    for _ in range(length):
        going = found.gather(1, here)
        onward = step.gather(1, here)
        # relation[here, onward], by one index into the flattened pairs
        code = relation.flatten(1).gather(1, (here * nodes + onward).flatten(1)).view_as(relation)
        path.append(torch.where(going, code, none))
        here = torch.where(going, onward, here)
    return torch.stack(path, -1)
