import numpy as np
import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.workflows.folds import FoldPlan, assign_folds, split_of_fold


def test_groups_stay_together_and_folds_are_of_like_size():
    groups = np.random.default_rng(0).integers(0, 60, 200)
    groups[:5] = -1
    fold_of = assign_folds(groups, 4, seed=1)
    assert (fold_of[:5] == -1).all() and set(fold_of[5:]) == {0, 1, 2, 3}
    for group in np.unique(groups[groups >= 0]):
        assert len(set(fold_of[groups == group])) == 1
    sizes = np.bincount(fold_of[5:])
    assert sizes.max() - sizes.min() <= 2
    assert not np.array_equal(fold_of, assign_folds(groups, 4, seed=2))
    assert np.array_equal(fold_of, assign_folds(groups, 4, seed=1))


def test_classes_have_their_share_in_every_fold():
    strata = np.array([1] * 10 + [0] * 90)
    fold_of = assign_folds(np.arange(100), 5, seed=0, strata=strata)
    assert np.bincount(fold_of[strata == 1]).tolist() == [2] * 5


def test_the_split_of_a_fold():
    groups = np.repeat(np.arange(50), 2)
    fold_of = assign_folds(groups, 5, seed=0)
    splits = split_of_fold(groups, fold_of, 2, 1 / 8, seed=0)
    assert {name: len(index) for name, index in splits.items()} == {"train": 70, "valid": 10, "test": 20}
    assert not set(groups[splits["train"]]) & set(groups[splits["valid"]])
    assert sorted(np.concatenate(list(splits.values()))) == list(range(100))
    assert len(split_of_fold(groups, fold_of, 2, 0.0, seed=0)["valid"]) == 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"folds": 1}, "folds is 1; accepted: 2 or more"),
        ({"folds": 5, "repeats": 0}, "repeats is 0"),
        ({"folds": 5, "split": "index"}, "folds by the split 'index'; accepted: random, scaffold, column"),
        ({"folds": 5, "split": "column"}, "the name of the column: one of them is missing"),
    ],
)
def test_plans_that_are_refused(keys, message):
    with pytest.raises(InputError, match=message):
        FoldPlan(**keys)
    with pytest.raises(InputError, match="5 folds of 3 groups of rows"):
        assign_folds(np.array([0, 1, 2, 2]), 5, seed=0)
