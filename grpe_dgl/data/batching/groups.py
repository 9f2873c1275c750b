"""In which groups of like size the graphs of a padded batch are computed, so that little of it is padding."""

import numpy as np

from grpe_dgl.data.batching.slices import Integers
from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled

MOST_GROUPS = 6
ENOUGH = 1.15
"""No further group is made once padded over real pairs is at most this: every group costs a pass of its own."""


def group_by_size(
    num_nodes: Integers, *, most_groups: int = MOST_GROUPS, most_graphs: int | None = None
) -> list[Integers]:
    """Return the places of the graphs of each group, sizes ascending from group to group.

    Of all ways to cut the graphs, sorted by size, into k groups, the one with the fewest padded pairs, sum over groups
    of graphs * largest ** 2, is found by dynamic programming; k is the smallest number of groups that leaves padded
    pairs at most `ENOUGH` times the real ones, and at most `most_groups`.

    Parameters
    ----------
    num_nodes
        (B,): nodes of each graph.
    most_groups
        The largest number of groups.
    most_graphs
        The largest number of graphs in a group; larger groups are cut into equal parts, as many as that takes.
    """
    if most_groups < 1 or (most_graphs is not None and most_graphs < 1):
        raise InputError(f"most_groups is {most_groups}, most_graphs {most_graphs}; accepted: 1 or more")
    order = np.argsort(num_nodes, kind="stable")
    sizes, counts = np.unique(num_nodes, return_counts=True)
    ends = np.cumsum(counts)
    cuts = ends[_partition(sizes.astype(np.float64) ** 2, ends.astype(np.float64), most_groups, ENOUGH)]
    groups = np.split(order, cuts[:-1])
    if most_graphs is not None:
        groups = [part for group in groups for part in np.array_split(group, -(-len(group) // most_graphs))]
    return groups


def padded_pairs(num_nodes: Integers, groups: list[Integers]) -> int:
    """Return how many pairs of nodes the groups have with their padding."""
    return sum(len(group) * int(num_nodes[group].max()) ** 2 for group in groups)


@compiled()
def _partition(squares, ends, most, enough):  # type: ignore[no-untyped-def]
    """Return the last distinct size of every group, ascending.

    `squares` and `ends` are, for each of U distinct sizes ascending, its square and how many graphs are as large or
    smaller. best[j] is the least cost of the sizes up to j in the current number of groups.
    """
    count = len(squares)
    real = squares[0] * ends[0]
    for j in range(1, count):
        real += squares[j] * (ends[j] - ends[j - 1])
    most = min(most, count)
    best = squares * ends
    previous = np.full((most, count), -1, np.int64)  # the last size of the group before
    groups = 1
    while groups < most and best[count - 1] > enough * real:
        better = best.copy()
        for j in range(groups, count):
            least = np.inf
            for i in range(groups - 1, j):
                cost = best[i] + (ends[j] - ends[i]) * squares[j]
                if cost < least:
                    least, previous[groups, j] = cost, i
            better[j] = least
        best = better
        groups += 1
    last = np.empty(groups, np.int64)
    j = count - 1
    for group in range(groups - 1, -1, -1):
        last[group] = j
        j = previous[group, j]
    return last
