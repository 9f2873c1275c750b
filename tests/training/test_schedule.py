import pytest
import torch
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


def test_cosine_and_constant_literals():
    options = {"epochs": 3, "warmup_epochs": 1, "learning_rate": 1.0}
    cosine = _schedule(2, schedule="cosine", final_learning_rate=0.2, **options)
    assert [cosine.at(update) for update in range(7)] == pytest.approx(
        [0.5, 1.0, 0.2 + 0.4 * (1 + 0.5**0.5), 0.6, 0.2 + 0.4 * (1 - 0.5**0.5), 0.2, 0.2]
    )
    constant = _schedule(2, schedule="constant", **options)
    assert [constant.at(update) for update in range(6)] == [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0.1, 1.2) | st.sampled_from([0.5, 0.50003, 0.49993, float("nan"), float("inf")]), max_size=40),
    st.floats(0.05, 0.95),
    st.integers(0, 4),
    st.sampled_from([1e-3, 3e-8, 1e-9]),
)
def test_plateau_is_torchs_to_the_bit(losses, factor, patience, rate):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    expected = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=factor, patience=patience)
    schedule = _schedule(
        schedule="plateau", epochs=50, learning_rate=rate, plateau_factor=factor, plateau_patience=patience
    )
    history = []
    for loss in losses:
        expected.step(loss)
        history.append({"valid_loss": loss})
        assert schedule.after(history).at(len(history)) == optimiser.param_groups[0]["lr"]


def test_plateau_ends_below_its_minimum():
    schedule = _schedule(
        schedule="plateau", epochs=50, learning_rate=1.0, plateau_patience=0, minimum_learning_rate=0.25
    )
    history = [{"valid_loss": 1.0}]
    assert not schedule.has_ended(history) and schedule.after(history).learning_rate == 1.0
    history += [{"valid_loss": 1.0}] * 2
    assert not schedule.has_ended(history) and schedule.after(history).learning_rate == 0.25
    assert schedule.has_ended([*history, {"valid_loss": 1.0}])


@pytest.mark.parametrize(
    ("schedule", "key", "value", "accepted"),
    [
        ("linear", "plateau_patience", 10, "with training.schedule plateau"),
        ("plateau", "warmup_epochs", 1, "with training.schedule linear, cosine, constant"),
        ("plateau", "final_learning_rate", 1e-5, "with training.schedule linear, cosine"),
        ("constant", "minimum_learning_rate", 1e-5, "with training.schedule plateau"),
    ],
)
def test_keys_of_another_schedule_are_refused(schedule, key, value, accepted):
    with pytest.raises(
        InputError, match=rf"training.{key} is .*, which training.schedule {schedule} does not read"
    ) as e:
        _schedule(schedule=schedule, epochs=20, **{key: value})
    assert str(e.value).endswith(f"accepted: {accepted}")


def test_values_of_a_plateau_are_checked():
    for wrong, message in (
        ({"plateau_factor": 1.0}, "training.plateau_factor is 1.0; accepted: above 0 and below 1"),
        ({"evaluate_every": 2}, "training.evaluate_every is 2; accepted: 1 with training.schedule plateau"),
        ({"minimum_learning_rate": 1.0}, "training.learning_rate is 0.0002; accepted: above 0 and at least"),
        ({"plateau_patience": -1}, "training.plateau_patience is -1; accepted: 0 or more"),
    ):
        with pytest.raises(InputError, match=message):
            _schedule(schedule="plateau", epochs=20, **wrong)
