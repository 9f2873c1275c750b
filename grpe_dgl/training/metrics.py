"""Metrics over a whole split, missing labels left out.

ROC-AUC, AP, RMSE and MAE go through OGB's own Evaluators where one exists for the number of targets, and are computed
the same way where none does: per target over its labels, then the mean over targets. A target without labels, or for
ROC-AUC and AP without both classes, is left out, as OGB does; for R2 one whose labels are all equal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.io.ogb_import import import_ogb

Array = npt.NDArray[np.float64]

# A dataset of OGB for each metric and number of targets: its Evaluator takes only data of that shape.
OGB_DATASETS: dict[tuple[str, int], str] = {
    ("rocauc", 1): "ogbg-molhiv",
    ("rocauc", 2): "ogbg-molclintox",
    ("rocauc", 12): "ogbg-moltox21",
    ("rocauc", 27): "ogbg-molsider",
    ("rocauc", 617): "ogbg-moltoxcast",
    ("ap", 17): "ogbg-molmuv",
    ("ap", 128): "ogbg-molpcba",
    ("rmse", 1): "ogbg-molesol",
}


@dataclass(frozen=True)
class Metric:
    """A number that judges predictions."""

    name: str
    higher_is_better: bool
    compute: Callable[[Tensor, Tensor], float]
    """Takes predictions and labels of a whole split; shapes and missing labels as in `grpe_dgl.training.losses`."""
    percent: bool = False
    """Whether people write it in percent; `compute` returns a fraction all the same."""

    def better(self, a: float, b: float) -> bool:
        """Whether a is strictly better than b; a number is better than NaN, and NaN than nothing."""
        if np.isnan(b):
            return not np.isnan(a)
        return a > b if self.higher_is_better else a < b

    def text(self, value: float, spread: float | None = None) -> str:
        """Write a value, and its standard deviation over runs, as the paper does: ``81.586 ± 0.190 %``."""
        scale, digits, unit = (100, 3, " %") if self.percent else (1, 4, "")
        written = f"{scale * value:.{digits}f}"
        return f"{written}{unit}" if spread is None else f"{written} ± {scale * spread:.{digits}f}{unit}"


def mae(predictions: Tensor, labels: Tensor) -> float:
    """Mean absolute error; (N, T) both, NaN for a missing label."""
    y_pred, y_true = _targets(predictions, labels)

    def of_target(y_pred: Array, y_true: Array) -> float:
        evaluator = import_ogb("ogb.lsc").PCQM4Mv2Evaluator()
        return float(evaluator.eval({"y_pred": y_pred, "y_true": y_true})["mae"])

    return _over_targets("mae", of_target, y_pred, y_true)


def rmse(predictions: Tensor, labels: Tensor) -> float:
    """Root of the mean squared error; (N, T) both, NaN for a missing label."""
    y_pred, y_true = _targets(predictions, labels)
    return _through_ogb("rmse", lambda p, t: float(np.sqrt(((t - p) ** 2).mean())), y_pred, y_true)


def r2(predictions: Tensor, labels: Tensor) -> float:
    """Coefficient of determination; (N, T) both, NaN for a missing label.

    ::

        R2 = 1 - sum_i (t_i - p_i)^2 / sum_i (t_i - mean of t)^2      per target, then the mean over targets

    1 is perfect, 0 as good as the mean of the split's own labels. A target whose labels are all equal is left out.
    """
    y_pred, y_true = _targets(predictions, labels)

    def of_target(y_pred: Array, y_true: Array) -> float:
        return 1.0 - float(((y_true - y_pred) ** 2).sum() / ((y_true - y_true.mean()) ** 2).sum())

    return _over_targets("r2", of_target, y_pred, y_true)


def rocauc(predictions: Tensor, labels: Tensor) -> float:
    """Area under the ROC curve; logits and 0 / 1 labels, (N, T) both, NaN for a missing label."""
    from sklearn.metrics import roc_auc_score

    y_pred, y_true = _targets(predictions, labels)
    return _through_ogb("rocauc", lambda p, t: float(roc_auc_score(t, p)), y_pred, y_true)


def ap(predictions: Tensor, labels: Tensor) -> float:
    """Average precision; logits and 0 / 1 labels, (N, T) both, NaN for a missing label."""
    from sklearn.metrics import average_precision_score

    y_pred, y_true = _targets(predictions, labels)
    return _through_ogb("ap", lambda p, t: float(average_precision_score(t, p)), y_pred, y_true)


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Share of right answers.

    Logits (N, C) with class numbers (N,), -1 for a missing one; or logits and 0 / 1 labels, (N, T) both, NaN for a
    missing one, where a positive logit means 1 and the mean is taken over targets.
    """
    if labels.dim() == 2:
        y_pred, y_true = _targets(predictions, labels)
        return _over_targets("accuracy", lambda p, t: float(((p > 0) == (t == 1)).mean()), y_pred, y_true)
    answers, labels = _answers("accuracy", predictions, labels)
    return float((answers == labels).double().mean())


def weighted_accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Accuracy of the SBM benchmarks: the mean over classes of the share of their nodes found.

    Logits (N, C) and class numbers (N,), -1 for a missing one. Classes without a label are left out. The benchmarks
    take this per batch and average over batches; here it is taken once over the whole split, which does not depend on
    how the split is cut into batches.
    """
    answers, labels = _answers("weighted_accuracy", predictions, labels)
    counts = torch.bincount(labels).double()
    found = torch.bincount(labels[answers == labels], minlength=len(counts)).double()
    return float((found / counts)[counts > 0].mean())


METRICS: dict[str, Metric] = {
    "mae": Metric("mae", False, mae),
    "rmse": Metric("rmse", False, rmse),
    "r2": Metric("r2", True, r2),
    "rocauc": Metric("rocauc", True, rocauc, percent=True),
    "ap": Metric("ap", True, ap, percent=True),
    "accuracy": Metric("accuracy", True, accuracy, percent=True),
    "weighted_accuracy": Metric("weighted_accuracy", True, weighted_accuracy, percent=True),
}


def needs(name: str) -> str:
    """Say what a target must have for a metric to count it."""
    both = "labels of both classes"
    return {"rocauc": both, "ap": both, "r2": "two labels that differ"}.get(name, "labels")


def is_defined(name: str, labels: Tensor) -> bool:
    """Whether labels, (N, T) or (N,), define a metric: whether what it `needs` is there for one target at least."""
    if labels.dim() == 1:
        return bool((labels >= 0).any())
    return bool(_usable(name, labels.double().cpu().numpy()).any())


def _targets(predictions: Tensor, labels: Tensor) -> tuple[Array, Array]:
    """Return both as float64 arrays (N, T)."""
    if predictions.dim() != 2 or predictions.shape != labels.shape:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; accepted: (N, T) both"
        )
    return predictions.detach().double().cpu().numpy(), labels.detach().double().cpu().numpy()


def _answers(name: str, predictions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the class answered and the class labelled, (n,) each, of the n rows that have a label."""
    if predictions.dim() != 2 or labels.shape != predictions.shape[:1]:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; "
            "accepted: (N, classes) and (N,)"
        )
    present = labels >= 0
    if not present.any():
        raise InputError(f"{name} cannot be computed: none of the {len(labels)} rows has a label")
    return predictions[present].argmax(1), labels[present].long()


def _through_ogb(name: str, of_target: Callable[[Array, Array], float], y_pred: Array, y_true: Array) -> float:
    """Use OGB's Evaluator if there is one for the number of targets and all of them count, `of_target` otherwise."""
    dataset = OGB_DATASETS.get((name, y_true.shape[1]))
    if dataset is None or not _usable(name, y_true).any() or (name == "rmse" and not _usable(name, y_true).all()):
        return _over_targets(name, of_target, y_pred, y_true)
    evaluator = import_ogb("ogb.graphproppred").Evaluator(dataset)
    return float(evaluator.eval({"y_true": y_true, "y_pred": y_pred})[name])


def _over_targets(name: str, of_target: Callable[[Array, Array], float], y_pred: Array, y_true: Array) -> float:
    """Return the mean of `of_target` over the targets that count, each over its labels."""
    usable = _usable(name, y_true)
    if not usable.any():
        raise InputError(f"{name} cannot be computed: no target has {needs(name)} among the {len(y_true)} rows")
    present = ~np.isnan(y_true)
    values = [of_target(y_pred[present[:, t], t], y_true[present[:, t], t]) for t in np.flatnonzero(usable)]
    return sum(values) / len(values)


def _usable(name: str, y_true: Array) -> npt.NDArray[np.bool_]:
    """Return which targets count, (T,)."""
    if name in ("rocauc", "ap"):
        return np.asarray((y_true == 1).any(axis=0) & (y_true == 0).any(axis=0))
    if name == "r2":
        low, high = (np.where(np.isnan(y_true), fill, y_true) for fill in (np.inf, -np.inf))
        return np.asarray(low.min(axis=0, initial=np.inf) < high.max(axis=0, initial=-np.inf))
    return np.asarray((~np.isnan(y_true)).any(axis=0))
