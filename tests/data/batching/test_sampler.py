import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.errors import InputError
from tests.data.conftest import SPLITS


@pytest.fixture
def data(regression):
    return grpe_dgl.data.load(regression)


def numbers(batches):
    return [index.tolist() for index in batches]


def test_in_order_without_shuffling(data):
    got = numbers(data.train.batches(batch_size=7).indices(0))
    assert sum(got, []) == SPLITS["train"].tolist()
    assert [len(batch) for batch in got] == [7, 7, 3] and len(data.train.batches(batch_size=7)) == 3


def test_shuffling_is_seeded_and_different_every_epoch(data):
    batches = data.train.batches(batch_size=7, shuffle=True, seed=3)
    first, second = numbers(batches.indices(0)), numbers(batches.indices(1))
    assert first != second
    assert sorted(sum(first, [])) == sorted(sum(second, [])) == sorted(SPLITS["train"].tolist())
    assert numbers(data.train.batches(batch_size=7, shuffle=True, seed=3).indices(1)) == second
    assert numbers(data.train.batches(batch_size=7, shuffle=True, seed=4).indices(1)) != second


def test_iterating_again_is_the_next_epoch(data):
    batches = data.train.batches(batch_size=7, shuffle=True)
    for epoch in range(3):
        assert [batch.indices.tolist() for batch in batches] == numbers(batches.indices(epoch))


def test_resuming_continues_where_it_stopped(data):
    batches = data.train.batches(batch_size=4, shuffle=True)
    whole = list(batches.epoch(2))
    rest = list(data.train.batches(batch_size=4, shuffle=True).epoch(2, start=3))
    assert len(whole) == 5 and len(rest) == 2
    for a, b in zip(whole[3:], rest, strict=True):
        assert torch.equal(a.indices, b.indices) and torch.equal(a.pairs.edata["relation"], b.pairs.edata["relation"])


@pytest.mark.parametrize("options", [{"batch_size": 5}, {"batch_size": 6, "drop_last": True}, {"pair_budget": 300}])
@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_together_see_what_one_rank_sees(data, options, world_size):
    one = numbers(data.train.batches(**options, shuffle=True, seed=1).indices(4))
    ranks = [
        numbers(data.train.batches(**options, shuffle=True, seed=1, rank=r, world_size=world_size).indices(4))
        for r in range(world_size)
    ]
    assert len({len(rank) for rank in ranks}) == 1, "unequal numbers of training steps"
    together = [sum(parts, []) for parts in zip(*ranks, strict=True)]
    if "batch_size" in options:  # a last batch of fewer graphs than ranks is left out
        assert together == [batch for batch in one if len(batch) >= world_size]
    else:  # a budget makes no batch of fewer graphs than ranks
        assert all(len(batch) >= world_size for batch in together)


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 7}, {"pair_budget": 100}])
def test_evaluation_sees_every_graph_once(data, options):
    seen = [
        graph
        for rank in range(3)
        for index in data.train.batches(**options, rank=rank, world_size=3).indices(0)
        for graph in index.tolist()
    ]
    assert sorted(seen) == sorted(SPLITS["train"].tolist())


def test_pair_budget_is_kept(data):
    for batch in data.train.batches(pair_budget=200, shuffle=True):
        assert batch.pairs.num_edges() <= 200 or len(batch.indices) == 1
    sizes = [b.pairs.num_edges() for b in data.train.batches(pair_budget=200)]
    # Greedy: no two neighbours would have fitted one budget.
    starts = [b.pairs.batch_num_edges()[0].item() for b in data.train.batches(pair_budget=200)]
    assert all(size + start > 200 for size, start in zip(sizes, starts[1:], strict=False))
    assert len(data.train.batches(pair_budget=200)) == len(sizes)


def test_a_budget_smaller_than_every_graph(data):
    assert [len(index) for index in data.train.batches(pair_budget=1).indices(0)] == [1] * 17


def test_codes_on_request(data):
    batch = next(iter(data.train.batches(batch_size=3, codes=("spd", "edge"))))
    assert set(batch.pairs.edata) == {"spd", "edge"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either batch_size"),
        ({"batch_size": 1, "pair_budget": 1}, "give either batch_size"),
        ({"batch_size": 0}, "batch_size is 0; accepted: 1 or more"),
        ({"pair_budget": 0}, "pair_budget is 0; accepted: 1 or more"),
        ({"batch_size": 4, "rank": 2, "world_size": 2}, "rank is 2 of world_size 2"),
        ({"batch_size": 1, "world_size": 2, "shuffle": True}, "batch_size is 1 for 2 ranks"),
        ({"pair_budget": 9, "drop_last": True}, "drop_last goes with batch_size"),
        ({"batch_size": 4, "codes": ("sdp",)}, "codes names 'sdp'; accepted: relation, spd, edge"),
    ],
)
def test_wrong_options(data, options, message):
    with pytest.raises(InputError, match=message):
        data.train.batches(**options)


def test_split_without_graphs(data, regression):
    data.store.splits["train"] = np.empty(0, np.uint8)
    assert list(data.train.batches(batch_size=3, shuffle=True)) == []
