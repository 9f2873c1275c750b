"""Prediction intervals and prediction sets that hold: conformal prediction from errors on rows kept back.

Of n errors on rows that are exchangeable with a new one, the new one is at most the k-th smallest with a probability of
at least k / (n + 1). The functions here are of arrays alone.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

Array = npt.NDArray[Any]
PRIOR_MODELS = 4
"""The weight of the mean spread against that of one molecule, in models: that of a few models is a rough guess."""
BINS = 15
PRIOR_VARIANCE = 10.0
"""Of the shifts of classes: a shift of 3, a factor of 20 in the odds, is not unusual."""
PRIOR_TEMPERATURE = 0.5
"""The variance of log T: temperatures from 0.5 to 2 are usual, 20 needs many rows to be believed."""


def check_level(level: float) -> None:
    """Raise unless a level is a probability between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"the level of an interval is {level:g}; accepted: between 0 and 1, such as 0.9")


def rank(count: int, level: float) -> int:
    """Return which of `count` errors in ascending order, counted from 1, bounds a new one with probability `level`.

    >>> rank(99, 0.9), rank(19, 0.95), rank(8, 0.9)
    (90, 19, 9)
    """
    return math.ceil(round((count + 1) * level, 9))


def quantile(scores: Array, level: float) -> float:
    """Return the error that a new one exceeds with a probability of at most 1 - level; infinite if they are too few.

    Parameters
    ----------
    scores
        (n,) in ascending order.
    level
        Between 0 and 1.
    """
    place = rank(len(scores), level)
    return float(scores[place - 1]) if place <= len(scores) else math.inf


def require_enough(count: int, level: float, what: str) -> None:
    """Raise if `count` errors cannot bound a new one at this level."""
    if rank(count, level) > count:
        needed = math.ceil(round(level / (1 - level), 9))
        raise InputError(
            f"an interval of {100 * level:g} % needs the errors of at least {counted(needed, 'row')} kept back from "
            f"training; {what} has {count}"
        )


def relative_spread(spread: Array, models: int, mean_square: float) -> Array:
    """Return the spread of each molecule relative to the usual one, drawn to 1 the more the fewer the models.

    Parameters
    ----------
    spread
        Standard deviation over the models, of a sample.
    models
        How many models it is of.
    mean_square
        The mean of the squared spread over the rows kept back.
    """
    if models < 2 or mean_square <= 0:
        return np.ones_like(spread)
    weight = models - 1
    return np.sqrt((weight * spread**2 / mean_square + PRIOR_MODELS) / (weight + PRIOR_MODELS))


def mean_error_ratio(mean_square_error: float, between: float, own: int, together: int) -> float:
    """Return how much smaller the error of the mean of many models is than that of the few that were measured.

    The squared error of one model is that of the mean of M plus (1 - 1/M) times their variance, on average, so the
    difference between the means of `own` and of `together` models follows from the variance between models.

    Parameters
    ----------
    mean_square_error
        Of the mean of `own` models on rows kept back.
    between
        The variance between models on rows kept back.
    own, together
        How many models were averaged for the measured errors, and are averaged for a prediction.
    """
    if mean_square_error <= 0:
        return 1.0
    smaller = 1.0 - between * (1.0 / own - 1.0 / together) / mean_square_error
    return math.sqrt(min(max(smaller, 0.25), 1.0))


def fit_temperature(logits: Array, labels: Array) -> tuple[float, Array]:
    """Return the T and the shifts b, (classes,), for which softmax(logits / T + b) fits the labels best.

    The shifts correct probabilities of classes that are all too high or too low, as those of models that were trained
    with weights for rare classes are. Weak priors keep them near 0, and T near 1, where there are few labels.

    Parameters
    ----------
    logits
        (n, classes).
    labels
        (n,) class numbers.
    """
    from scipy.optimize import minimize

    count, classes = logits.shape
    if count == 0:
        return 1.0, np.zeros(classes)
    truth = np.eye(classes)[labels]

    def loss(point: Array) -> tuple[float, Array]:
        """Return the cross-entropy with the prior, and its derivatives by log T and all shifts but the first."""
        inverse, shift = math.exp(-point[0]), np.concatenate([[0.0], point[1:]])
        scaled = logits * inverse + shift
        highest = scaled.max(1, keepdims=True)
        powers = np.exp(scaled - highest)
        total = powers.sum(1, keepdims=True)
        difference = powers / total - truth
        entropy = (np.log(total)[:, 0] + highest[:, 0] - (scaled * truth).sum(1)).mean()
        by_temperature = -(difference * logits * inverse).sum(1).mean() + point[0] / (PRIOR_TEMPERATURE * count)
        by_shift = difference.mean(0)[1:] + point[1:] / (PRIOR_VARIANCE * count)
        prior = (point[1:] ** 2).sum() / PRIOR_VARIANCE + point[0] ** 2 / PRIOR_TEMPERATURE
        value = entropy + prior / (2 * count)
        return float(value), np.concatenate([[by_temperature], by_shift])

    bounds = [(-3.0, 3.0), *[(-20.0, 20.0)] * (classes - 1)]
    found = minimize(loss, np.zeros(classes), jac=True, bounds=bounds, method="L-BFGS-B").x
    return math.exp(found[0]), np.concatenate([[0.0], found[1:]])


def calibrated(probabilities: Array, temperature: float, shift: npt.ArrayLike) -> Array:
    """Return class probabilities, (n, classes), at another temperature and with a shift of each class's logit."""
    logits = to_logits(probabilities) / temperature + np.asarray(shift)
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def to_logits(probabilities: Array) -> Array:
    """Return the logarithm of probabilities, bounded where they are 0."""
    return np.log(np.clip(probabilities.astype(np.float64), 1e-12, 1.0))


def log_loss(probabilities: Array, labels: Array) -> float:
    """Return the mean of -log p of the true classes; 0 for no rows."""
    return float(-to_logits(probabilities)[np.arange(len(labels)), labels].mean()) if len(labels) else 0.0


def calibration_error(probabilities: Array, labels: Array) -> float:
    """Return the expected calibration error: |accuracy - confidence| in 15 bins, weighted by their rows.

    Of two classes the probability of the second is binned against how often it occurs; of more classes that of the most
    likely one against how often it is right.

    Parameters
    ----------
    probabilities
        (n, classes).
    labels
        (n,) class numbers.
    """
    if probabilities.shape[1] == 2:
        confidence, right = probabilities[:, 1], labels == 1
    else:
        confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    total = 0.0
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            total += inside.mean() * abs(float(right[inside].mean()) - float(confidence[inside].mean()))
    return total
