import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.loop import train, training_batches
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, make_optimizer
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """21 graphs to train on: in batches of 4, the last batch has one."""
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression", count=29))


def start(data, **overrides):
    fitted = recipe(**overrides).fit_to_task(data.task)
    torch.manual_seed(0)
    model = build_model(fitted.model, data.schema)
    return State(model, make_optimizer(model, fitted.training)), fitted.training


def epochs(state, data, training, **options):
    batches = training_batches(data, training)
    yield from train(state, data, training, batches, Schedule.of(training, len(batches)), **options)


@pytest.mark.parametrize(("world_size", "steps"), [(1, 6), (2, 5), (4, 5)])
def test_updates_per_epoch_leave_out_a_batch_smaller_than_the_number_of_processes(data, world_size, steps):
    training = recipe().training
    for rank in range(world_size):
        batches = training_batches(data, training, Processes(rank=rank, world_size=world_size))
        assert len(batches) == steps == len(list(batches.epoch(0)))


def test_rows_and_updates(data):
    state, training = start(data, training__evaluate_every=2)
    steps = []
    rows = list(epochs(state, data, training, after_step=lambda loss, rate: steps.append((loss, rate))))
    assert [row["epoch"] for row in rows] == [1, 2, 3] and [row["updates"] for row in rows] == [6, 12, 18]
    assert [row["valid_mae"] is None for row in rows] == [True, False, False]
    assert len(steps) == state.update == 18 and state.history == rows
    schedule = Schedule.of(training, 6)
    assert [rate for _, rate in steps] == [schedule.at(update) for update in range(18)]
    sizes = torch.tensor([4.0] * 5 + [1.0])
    losses = torch.tensor([loss for loss, _ in steps[:6]])
    assert rows[0]["train_loss"] == pytest.approx(float((sizes * losses).sum() / sizes.sum()))


def test_a_schedule_in_updates_ends_inside_an_epoch(data):
    state, training = start(data, training__updates=8)
    rows = list(epochs(state, data, training))
    assert [row["updates"] for row in rows] == [6, 8] and rows[-1]["valid_mae"] is not None


def test_an_exception_leaves_the_state_at_the_update_before_it(data):
    state, training = start(data)

    def interrupt(loss, rate):
        if state.update == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(epochs(state, data, training, after_step=interrupt))
    assert (state.update, len(state.history)) == (8, 1)
    weight = state.sums.weight
    assert weight == 8  # two batches of four graphs of the second epoch
    (second, _) = epochs(state, data, training)
    assert second["updates"] == 12


def test_an_epoch_continues_where_it_was_left_after_another_number_of_processes(data):
    """The first epoch was made by one process in 6 updates; with 2 processes an epoch has 5."""
    state, training = start(data)
    rows = epochs(state, data, training)
    next(rows)
    batches = training_batches(data, training, Processes(rank=0, world_size=2))
    seen = []
    schedule = Schedule.of(training, len(batches))
    for _ in train(state, data, training, batches, schedule, after_step=lambda loss, rate: seen.append(state.update)):
        break
    assert seen == [7, 8, 9, 10, 11]
