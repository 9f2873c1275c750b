import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.schedule import Schedule


def _schedule(steps_per_epoch: int = 10, **training) -> Schedule:
    return Schedule.of(TrainingRecipe(batch_size=1, **training), steps_per_epoch)


def test_literal():
    schedule = _schedule(2, epochs=4, warmup_epochs=2, learning_rate=1.0, final_learning_rate=0.2)
    rates = [schedule.at(update) for update in range(10)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2])


def test_the_authors_zinc_schedule():
    schedule = _schedule(40, updates=400_000, warmup_updates=40_000, learning_rate=2e-4)
    assert schedule.epochs == 10_000
    assert schedule.at(0) == pytest.approx(2e-4 / 40_000)
    assert schedule.at(39_999) == pytest.approx(2e-4)
    assert schedule.at(219_999) == pytest.approx((2e-4 + 1e-9) / 2)
    assert schedule.at(399_999) == 1e-9


def test_stopping_early_leaves_the_rates_alone():
    whole = _schedule(epochs=100, warmup_epochs=3)
    stopped = _schedule(epochs=100, warmup_epochs=3, stop_after_epochs=5)
    assert (whole.last_update, stopped.last_update) == (1000, 50)
    assert (whole.epochs, stopped.epochs) == (100, 5)
    assert [whole.at(update) for update in range(50)] == [stopped.at(update) for update in range(50)]


def test_the_last_epoch_may_be_cut_short():
    schedule = _schedule(updates=25)
    assert (schedule.epochs, schedule.last_update) == (3, 25)


def test_without_warmup_the_first_update_is_one_step_below_the_peak():
    assert _schedule(1, epochs=4, learning_rate=1.0, final_learning_rate=0.0).at(0) == pytest.approx(0.75)


def test_warmup_as_long_as_the_schedule_is_refused():
    with pytest.raises(InputError, match="warm-up is 50 updates of 30, with 10 updates per epoch"):
        _schedule(epochs=3, warmup_updates=50)
    with pytest.raises(InputError, match="makes no batch"):
        _schedule(0, epochs=3)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 50), st.integers(2, 30), st.data())
def test_rises_to_the_peak_once_and_never_below_the_end(steps, epochs, data):
    warmup = data.draw(st.integers(0, epochs - 1))
    schedule = _schedule(steps, epochs=epochs, warmup_epochs=warmup, learning_rate=1e-3)
    rates = [schedule.at(update) for update in range(schedule.updates)]
    top = warmup * steps
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) <= 1e-3 and min(rates) > 0
    assert rates[-1] == 1e-9
