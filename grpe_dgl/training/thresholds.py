"""The probability from which a yes/no target is predicted as yes, chosen on the validation split."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.objectives import METRICS
from grpe_dgl.training.metrics import METRIC_FUNCTIONS, is_defined

DEFAULT_METRIC = "mcc"
"""What a threshold maximises if the metric of the training does not depend on one."""
_MOST = 1000  # thresholds that are tried


def choose_thresholds(predictions: Tensor, labels: Tensor, metric: str) -> tuple[float, ...]:
    """Return for each target the probability threshold with the best metric; 0.5 where that is undefined.

    0.5 and thresholds between all neighbouring predictions are tried (of more than 1,000, as many quantiles); of
    several that are equally good, the one nearest to 0.5 is taken.

    Parameters
    ----------
    predictions
        Logits, (N, T).
    labels
        0, 1, or NaN where missing, (N, T).
    metric
        The metric of the training; if it does not depend on a threshold, `DEFAULT_METRIC` is maximised.
    """
    name = metric if METRICS[metric].uses_threshold else DEFAULT_METRIC
    return tuple(_choose(predictions[:, t : t + 1], labels[:, t : t + 1], name) for t in range(predictions.shape[1]))


def _choose(logits: Tensor, labels: Tensor, metric: str) -> float:
    present = ~torch.isnan(labels[:, 0])
    logits, labels = logits[present].double(), labels[present]
    if not is_defined(metric, labels) or not torch.isfinite(logits).all():
        return 0.5
    values = np.unique(logits.numpy())
    if len(values) < 2:
        return 0.5
    candidates = (values[1:] + values[:-1]) / 2
    if len(candidates) > _MOST:
        candidates = np.unique(np.quantile(candidates, np.linspace(0, 1, _MOST)))
    candidates = np.append(candidates, 0.0)  # the logit of 0.5, which may be better than any cut between predictions
    scores = np.array([METRIC_FUNCTIONS[metric](logits - cut, labels) for cut in candidates])
    best = candidates[scores >= scores.max() - 1e-12]
    return float(torch.sigmoid(torch.tensor(best[np.abs(best).argmin()])))


def shift_to_thresholds(metric: str, predictions: Tensor, thresholds: Sequence[float] | None) -> Tensor:
    """Return logits that are positive where a probability is above its target's threshold, for metrics that use it."""
    if thresholds is None or not METRICS[metric].uses_threshold:
        return predictions
    cuts = [math.log(value / (1 - value)) for value in thresholds]
    return predictions - torch.tensor(cuts, dtype=predictions.dtype)
