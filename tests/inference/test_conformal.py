import numpy as np
import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.inference import conformal
from grpe_dgl.inference.calibration import class_errors, number_errors


def test_the_rank_is_that_of_the_definition():
    scores = np.arange(1.0, 100.0)
    assert conformal.quantile(scores, 0.9) == 90 and conformal.quantile(scores, 0.899) == 90
    assert conformal.quantile(scores[:9], 0.9) == 9 and conformal.quantile(scores[:8], 0.9) == np.inf
    with pytest.raises(InputError, match="an interval of 90 % needs the errors of at least 9 rows .*; the run has 8"):
        conformal.require_enough(8, 0.9, "the run")
    conformal.require_enough(9, 0.9, "the run")
    for level in (0, 1, -0.1, 90):
        with pytest.raises(InputError, match="accepted: between 0 and 1"):
            conformal.check_level(level)


def test_intervals_hold_for_errors_that_follow_the_spread():
    """Errors of heavy tails whose size follows the spread of five models: covered as often as asked, over 300 draws."""
    rng = np.random.default_rng(0)
    covered, relative_width = [], []
    for _ in range(300):
        size = rng.gamma(2.0, 1.0, 140)
        models = size[:, None] * rng.standard_normal((140, 5)) * 0.5
        labels = size * rng.standard_t(4, 140)
        mean, spread = models.mean(1), models.std(1, ddof=1)
        known = number_errors(mean[:40], labels[:40], spread[:40], own=5, together=5, between=None)
        width = known.half_width(0.8, spread[40:], 5)
        covered.append((np.abs(labels[40:] - mean[40:]) <= width).mean())
        relative_width.append(np.corrcoef(width, size[40:])[0, 1])
    assert np.mean(covered) == pytest.approx(33 / 41, abs=0.012)  # the 33rd of 40 errors
    assert np.mean(relative_width) > 0.5


def test_the_mean_of_more_models_than_were_measured_has_narrower_intervals():
    """Errors of single models, as of folds, and predictions by the mean of ten: the ratio makes up for it."""
    rng = np.random.default_rng(1)
    covered, without = [], []
    for _ in range(200):
        truth = rng.standard_normal(1200)
        models = truth[:, None] + rng.standard_normal((1200, 1)) + rng.standard_normal((1200, 10))
        between = float((models[:200, 0] - models[:200, 1]).__pow__(2).mean() / 2)
        none = np.zeros(1200)
        known = number_errors(models[:200, 0], truth[:200], none[:200], own=1, together=10, between=between)
        error = np.abs(models[200:].mean(1) - truth[200:])
        width = known.half_width(0.9, none[200:], 10)
        covered.append((error <= width).mean())
        without.append((error <= width / known.ratio).mean())
    assert np.mean(covered) == pytest.approx(0.9, abs=0.012) and np.mean(without) > 0.95


def test_the_variance_between_models_explains_the_error_of_their_mean():
    assert conformal.mean_error_ratio(2.0, 1.0, 1, 1) == 1.0
    assert conformal.mean_error_ratio(2.0, 1.0, 1, 4) == pytest.approx(np.sqrt((2 - 1 + 1 / 4) / 2))
    assert conformal.mean_error_ratio(1.0, 5.0, 1, 9) == 0.5  # never less than half: the estimate is rough
    assert conformal.mean_error_ratio(0.0, 1.0, 1, 4) == 1.0


def test_temperature_undoes_overconfidence_and_sets_hold():
    rng = np.random.default_rng(2)
    covered, by_class = [], []
    for _ in range(60):
        logits = rng.standard_normal((500, 3))
        truth = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        labels = np.array([rng.choice(3, p=row) for row in truth])
        sharp = np.exp(3 * logits) / np.exp(3 * logits).sum(1, keepdims=True)
        found = class_errors(sharp[:300], labels[:300])
        assert found.temperature == pytest.approx(3, rel=0.35)
        assert found.calibration_error_after < found.calibration_error
        new = conformal.calibrated(sharp[300:], found.temperature, found.shift)
        sets = found.contains(0.8, new)
        inside = sets[np.arange(200), labels[300:]]
        covered.append(inside.mean())
        by_class.append([inside[labels[300:] == name].mean() for name in range(3)])
        assert sets.any(1).all()
    assert np.mean(covered) == pytest.approx(0.81, abs=0.03)
    assert np.mean(by_class, axis=0) == pytest.approx([0.81] * 3, abs=0.04)


def test_shifts_undo_the_weights_of_a_rare_class():
    rng = np.random.default_rng(3)
    truth = 1 / (1 + np.exp(-rng.normal(-3, 1, 4000)))
    labels = (rng.random(4000) < truth).astype(int)
    odds = 20 * truth / (1 - truth)  # as if trained with a weight of 20
    both = np.stack([1 / (1 + odds), odds / (1 + odds)], 1)
    found = class_errors(both, labels)
    assert found.calibration_error > 0.3 and found.calibration_error_after < 0.03
    assert found.shift[1] == pytest.approx(-np.log(20), abs=0.5) and found.shift[0] == 0
    again = conformal.calibrated(both, found.temperature, found.shift)[:, 1]
    assert np.array_equal(np.argsort(again), np.argsort(both[:, 1]))


def test_the_fit_of_temperature_and_shift_is_a_minimum():
    rng = np.random.default_rng(4)
    logits = 2 * rng.standard_normal((60, 3))
    labels = np.array([rng.choice(3, p=np.exp(row / 2) / np.exp(row / 2).sum()) for row in logits])
    temperature, shift = conformal.fit_temperature(logits, labels)

    def loss(temperature, shift):
        p = conformal.calibrated(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), temperature, shift)
        prior = (shift**2).sum() / conformal.PRIOR_VARIANCE + np.log(temperature) ** 2 / conformal.PRIOR_TEMPERATURE
        return -np.log(p[np.arange(60), labels]).mean() + prior / (2 * 60)

    best = loss(temperature, shift)
    for change in (0.97, 1.03):
        assert loss(temperature * change, shift) >= best - 1e-9
    for place in (1, 2):
        for change in (-0.05, 0.05):
            assert loss(temperature, shift + change * np.eye(3)[place]) > best


def test_calibration_error_by_hand():
    probabilities = np.array([[0.4, 0.6]] * 10)
    labels = np.array([1] * 3 + [0] * 7)
    assert conformal.calibration_error(probabilities, labels) == pytest.approx(0.3)
    three = np.array([[0.5, 0.3, 0.2]] * 4)
    assert conformal.calibration_error(three, np.array([0, 0, 0, 1])) == pytest.approx(0.25)


def test_few_rows_do_not_make_probabilities_worse():
    """Labels that have nothing to do with the probabilities, eight rows each: no calibration, or a gentle one."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        positive = rng.uniform(0.3, 0.7, 8)
        found = class_errors(np.stack([1 - positive, positive], 1), rng.integers(0, 2, 8))
        assert 0.2 < found.temperature < 5
        if (found.temperature, found.shift) == (1.0, [0.0, 0.0]):
            assert found.calibration_error_after == found.calibration_error
    kept = [class_errors(rng.dirichlet([5, 5, 5], 6), rng.integers(0, 3, 6)).temperature == 1.0 for _ in range(30)]
    assert sum(kept) > 10
