"""The functions of the metrics: scikit-learn's scores over a whole split, missing labels left out.

With several targets a metric is computed per target, over the rows that have a label for it, and averaged over targets.
A target whose labels do not contain what the metric requires (`grpe_dgl.objectives.Metric.requires`) is left out. The
evaluators of OGB do the same, so their numbers are equal.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    recall_score,
    roc_auc_score,
)
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import BOTH_CLASSES, DIFFERENT_LABELS, METRICS

Array = npt.NDArray[np.float64]


def mae(predictions: Tensor, labels: Tensor) -> float:
    """Mean absolute error; (N, T) both, NaN for a missing label."""
    return _mean_over_targets("mae", mean_absolute_error, predictions, labels)


def rmse(predictions: Tensor, labels: Tensor) -> float:
    """Root of the mean squared error; (N, T) both, NaN for a missing label."""
    return _mean_over_targets("rmse", lambda true, pred: math.sqrt(mean_squared_error(true, pred)), predictions, labels)


def r2(predictions: Tensor, labels: Tensor) -> float:
    """Coefficient of determination; (N, T) both, NaN for a missing label.

    ::

        R2 = 1 - sum_i (t_i - p_i)^2 / sum_i (t_i - mean of t)^2      per target, then the mean over targets

    1 is perfect, 0 as good as the mean of the split's own labels.
    """
    return _mean_over_targets("r2", r2_score, predictions, labels)


def rocauc(predictions: Tensor, labels: Tensor) -> float:
    """Area under the ROC curve; logits and 0 / 1 labels, (N, T) both, NaN for a missing label."""
    return _mean_over_targets("rocauc", roc_auc_score, predictions, labels)


def ap(predictions: Tensor, labels: Tensor) -> float:
    """Average precision; logits and 0 / 1 labels, (N, T) both, NaN for a missing label."""
    return _mean_over_targets("ap", average_precision_score, predictions, labels)


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Fraction of correct predictions.

    Logits (N, C) with class numbers (N,), -1 for a missing one; or logits and 0 / 1 labels, (N, T) both, NaN for a
    missing one, where a positive logit means 1 and the mean is taken over targets.
    """
    if labels.dim() == 2:
        return _mean_over_targets("accuracy", accuracy_score, (predictions > 0).double(), labels)
    return float(accuracy_score(*_classes("accuracy", predictions, labels)))


def balanced_accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Mean over classes of the recall of each; arguments as for `accuracy`, and the mean is taken over yes/no targets.

    Classes without a label are left out.
    """
    if labels.dim() == 2:
        return _mean_over_targets("balanced_accuracy", balanced_accuracy_score, (predictions > 0).double(), labels)
    true, predicted = _classes("balanced_accuracy", predictions, labels)
    return float(recall_score(true, predicted, labels=np.unique(true), average="macro"))


def f1(predictions: Tensor, labels: Tensor) -> float:
    """Harmonic mean of precision and recall of yes, then the mean over targets; of several classes, the mean over them.

    Arguments as for `accuracy`. It is 0 where nothing is predicted as yes. Of several classes, those that occur neither
    among the labels nor among the predictions are left out, as scikit-learn's ``average="macro"`` does.
    """
    if labels.dim() == 2:
        score = functools.partial(f1_score, zero_division=0.0)
        return _mean_over_targets("f1", score, (predictions > 0).double(), labels)
    true, predicted = _classes("f1", predictions, labels)
    return float(f1_score(true, predicted, average="macro", zero_division=0.0))


def mcc(predictions: Tensor, labels: Tensor) -> float:
    """Matthews' correlation coefficient, -1 to 1; arguments as for `accuracy`, and the mean is taken over targets.

    It is 0 where all predictions are of one class.
    """
    if labels.dim() == 2:
        return _mean_over_targets("mcc", matthews_corrcoef, (predictions > 0).double(), labels)
    return float(matthews_corrcoef(*_classes("mcc", predictions, labels)))


def weighted_accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Mean over classes of the recall of each, over the whole split.

    Logits (N, C) and class numbers (N,), -1 for a missing one. Classes without a label are left out.
    """
    true, predicted = _classes("weighted_accuracy", predictions, labels)
    return float(recall_score(true, predicted, labels=np.unique(true), average="macro"))


def sbm_accuracy(predictions: Tensor, labels: Tensor, batch: Tensor | None = None) -> float:
    """Accuracy of the SBM benchmarks (PATTERN, CLUSTER) as their own code computes it: a mean over batches.

    ::

        accuracy of a batch = sum_c recall_c / C_b      C_b: classes that occur among its labels or its predictions
        result = mean over batches                      a last, smaller batch counts like the others

    A class that is predicted but has no label counts with a recall of 0, unlike in `weighted_accuracy`. The benchmarks'
    code numbers the classes of a batch anew where one occurs neither in labels nor in predictions and then compares
    different classes; here the recalls are those of the classes themselves.

    Parameters
    ----------
    predictions, labels
        Logits (N, C) and class numbers (N,), -1 for a missing one.
    batch
        The number of the batch that each row belongs to, (N,) int64; None: all rows are one batch. Batches without a
        label are left out.
    """
    true, predicted = _classes("sbm_accuracy", predictions, labels)
    batches = np.zeros(len(labels), np.int64) if batch is None else batch.cpu().numpy()
    batches = batches[(labels >= 0).cpu().numpy()]
    classes = predictions.shape[1]
    numbers, place = np.unique(batches, return_inverse=True)
    shape = (len(numbers), classes)

    def count(of_class: npt.NDArray[np.int64], rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return how often each class occurs in each batch, (batches, C), among the given rows."""
        flat = np.bincount(place[rows] * classes + of_class[rows], minlength=shape[0] * shape[1])
        return flat.reshape(shape)

    every = np.ones(len(true), bool)
    labelled, guessed, hit = count(true, every), count(predicted, every), count(true, true == predicted)
    recall = hit / np.maximum(labelled, 1)
    return float((recall.sum(1) / ((labelled + guessed) > 0).sum(1)).mean())


METRIC_FUNCTIONS: dict[str, Callable[..., float]] = {name: globals()[name] for name in METRICS}
"""The function above of each metric in `grpe_dgl.objectives`: predictions and labels of a whole split to a number.

Those of metrics that are computed per batch take the batch of every row as their third argument.
"""


def is_defined(name: str, labels: Tensor) -> bool:
    """Whether at least one target of the labels, (N, T) or (N,), has what the metric requires."""
    if labels.dim() == 1:
        return bool((labels >= 0).any())
    return bool(_usable(name, labels.double().cpu().numpy()).any())


def _mean_over_targets(name: str, score: Callable[[Array, Array], float], predictions: Tensor, labels: Tensor) -> float:
    """Return the mean of ``score(labels, predictions)`` over the usable targets, each over its labelled rows."""
    if predictions.dim() != 2 or predictions.shape != labels.shape:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; accepted: (N, T) both"
        )
    predicted, true = (tensor.detach().double().cpu().numpy() for tensor in (predictions, labels))
    usable = np.flatnonzero(_usable(name, true))
    if not len(usable):
        raise InputError(f"{name} is undefined: no target has {METRICS[name].requires} among the {len(true)} rows")
    values = []
    for target in usable:
        present = ~np.isnan(true[:, target])
        if not np.isfinite(predicted[present, target]).all():  # scikit-learn refuses these
            return math.nan
        values.append(float(score(true[present, target], predicted[present, target])))
    return sum(values) / len(values)


def _usable(name: str, true: Array) -> npt.NDArray[np.bool_]:
    """Return which targets of the labels (N, T) have what the metric requires, (T,)."""
    requires = METRICS[name].requires
    if requires == BOTH_CLASSES:
        return np.asarray((true == 1).any(axis=0) & (true == 0).any(axis=0))
    if requires == DIFFERENT_LABELS:
        low, high = (np.where(np.isnan(true), fill, true) for fill in (np.inf, -np.inf))
        return np.asarray(low.min(axis=0, initial=np.inf) < high.max(axis=0, initial=-np.inf))
    return np.asarray((~np.isnan(true)).any(axis=0))


def _classes(name: str, predictions: Tensor, labels: Tensor) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the labelled and the predicted class, (n,) each, of the n rows that have a label."""
    if predictions.dim() != 2 or labels.shape != predictions.shape[:1]:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; "
            "accepted: (N, classes) and (N,)"
        )
    present = labels >= 0
    if not present.any():
        raise InputError(f"{name} is undefined: none of the {len(labels)} rows has a label")
    return labels[present].long().cpu().numpy(), predictions[present].argmax(1).cpu().numpy()
