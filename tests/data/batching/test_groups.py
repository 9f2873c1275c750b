import itertools

import numpy as np
import pytest

from grpe_dgl.data.batching.groups import ENOUGH, MOST_GROUPS, group_by_size, padded_pairs
from grpe_dgl.errors import InputError


def fewest_padded_pairs(num_nodes, groups):
    """Try every way to cut the sorted sizes into at most so many groups."""
    sizes = np.sort(num_nodes)
    best = None
    for count in range(1, groups + 1):
        for cuts in itertools.combinations(range(1, len(sizes)), count - 1):
            cost = sum(len(part) * int(part[-1]) ** 2 for part in np.split(sizes, cuts))
            best = cost if best is None else min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_no_other_cut_has_fewer_padded_pairs(seed, most):
    rng = np.random.default_rng(seed)
    num_nodes = rng.integers(1, 20, rng.integers(1, 12))
    groups = group_by_size(num_nodes, most_groups=most)
    assert sorted(np.concatenate(groups)) == list(range(len(num_nodes)))
    found, real = padded_pairs(num_nodes, groups), int((num_nodes**2).sum())
    # Where fewer groups are enough, it is the best of those.
    assert found == fewest_padded_pairs(num_nodes, len(groups))
    assert len(groups) == min(most, len(set(num_nodes))) or found <= ENOUGH * real
    assert all(fewest_padded_pairs(num_nodes, fewer) > ENOUGH * real for fewer in range(1, len(groups)))


def test_literals():
    groups = group_by_size(np.array([9, 2, 9, 3, 2]))
    assert [list(group) for group in groups] == [[1, 4, 3], [0, 2]]  # 3 * 9 + 2 * 81 = 189 pairs, 179 of them real
    assert padded_pairs(np.array([9, 2, 9, 3, 2]), groups) == 189
    assert [list(group) for group in group_by_size(np.array([5, 5, 5]))] == [[0, 1, 2]]
    assert [list(group) for group in group_by_size(np.array([7]))] == [[0]]


def test_at_most_six_groups_and_little_padding():
    num_nodes = np.random.default_rng(0).normal(24, 5, 256).round().clip(9, 38).astype(np.int64)
    groups = group_by_size(num_nodes)
    assert len(groups) <= MOST_GROUPS
    assert padded_pairs(num_nodes, groups) <= 1.25 * (num_nodes**2).sum()


def test_groups_are_cut_to_a_number_of_graphs():
    num_nodes = np.array([3] * 10 + [30] * 5)
    groups = group_by_size(num_nodes, most_graphs=4)
    assert [len(group) for group in groups] == [4, 3, 3, 3, 2]
    assert sorted(np.concatenate(groups)) == list(range(15))
    with pytest.raises(InputError, match="most_graphs 0; accepted: 1 or more"):
        group_by_size(num_nodes, most_graphs=0)
