r"""The functions of the losses. Each returns a sum and its normaliser, so that several processes give the loss of one.

The mean over a batch that is divided among processes is the sum of their sums over the sum of their counts, not the
mean of their means: processes differ in how many labels are present, and the class weights of the weighted
cross-entropy come from the whole batch. So every loss returns this process's part of the sum and a normaliser that is
global. The argument `all_reduce` sums a tensor over processes; only label counts are communicated, never predictions.

DistributedDataParallel averages gradients over processes. Each of W processes therefore calls backward on
``W * sum / normaliser``, and the mean of those gradients is the gradient of ``all_reduce(sum) / normaliser``, the loss
of the whole batch. On one process that is `LossTerms.mean`.

If no label is present, the normaliser is 1 and the sum 0: the gradient is zero, not NaN.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import LOSSES

AllReduce = Callable[[Tensor], Tensor]
"""Returns the sum of a float64 tensor over all processes."""


class LossTerms(NamedTuple):
    """The two parts of a loss, both of shape ()."""

    sum: Tensor
    """This process's part of the sum; gradients flow through it."""
    normaliser: Tensor
    """The number to divide by, over all processes."""

    @property
    def mean(self) -> Tensor:
        """The loss, on one process."""
        return self.sum / self.normaliser


def l1(predictions: Tensor, labels: Tensor, all_reduce: AllReduce | None = None) -> LossTerms:
    """Mean absolute error over the labels that are present.

    Parameters
    ----------
    predictions
        (N, T), for N graphs or nodes and T targets.
    labels
        (N, T); NaN where missing.
    all_reduce
        See the module.
    """
    predictions, labels, present = _present(predictions, labels)
    return _terms((predictions - labels).abs().sum(), present.sum(), all_reduce)


def mse(predictions: Tensor, labels: Tensor, all_reduce: AllReduce | None = None) -> LossTerms:
    """Mean squared error over the labels that are present; arguments as for `l1`."""
    predictions, labels, present = _present(predictions, labels)
    return _terms((predictions - labels).square().sum(), present.sum(), all_reduce)


def bce(predictions: Tensor, labels: Tensor, all_reduce: AllReduce | None = None) -> LossTerms:
    """Binary cross-entropy over the labels that are present.

    Parameters
    ----------
    predictions
        Logits, (N, T), for N graphs or nodes and T yes/no targets.
    labels
        0, 1, or NaN where missing, (N, T).
    all_reduce
        See the module.
    """
    predictions, labels, present = _present(predictions, labels)
    return _terms(F.binary_cross_entropy_with_logits(predictions, labels, reduction="sum"), present.sum(), all_reduce)


def cross_entropy(predictions: Tensor, labels: Tensor, all_reduce: AllReduce | None = None) -> LossTerms:
    """Cross-entropy over the labels that are present.

    Parameters
    ----------
    predictions
        Logits, (N, C), for N graphs or nodes and C classes.
    labels
        Class numbers 0..C-1, or -1 where missing, (N,).
    all_reduce
        See the module.
    """
    predictions, labels = _classes(predictions, labels)
    return _terms(F.cross_entropy(predictions, labels, reduction="sum"), torch.tensor(len(labels)), all_reduce)


def weighted_cross_entropy(predictions: Tensor, labels: Tensor, all_reduce: AllReduce | None = None) -> LossTerms:
    r"""Cross-entropy with the class weights of the SBM benchmarks (PATTERN, CLUSTER).

    ::

        w_c  = (V - n_c) / V        of the batch's V labels, n_c are of class c; w_c = 0 if n_c = 0
        loss = sum_i w_{y_i} (-log p_i[y_i]) / sum_i w_{y_i}

    V and n_c are counted over all processes. In a batch of a single class all weights are 0, and so is the gradient.

    Parameters
    ----------
    predictions
        Logits, (N, C), for N nodes and C classes.
    labels
        Class numbers 0..C-1, or -1 where missing, (N,).
    all_reduce
        See the module.
    """
    predictions, labels = _classes(predictions, labels)
    counts = torch.bincount(labels, minlength=predictions.shape[1]).double()  # n_c, (C,)
    if all_reduce is not None:
        counts = all_reduce(counts)
    total = counts.sum().clamp(min=1)
    weights = torch.where(counts > 0, (total - counts) / total, 0.0)  # w_c, (C,)
    summed = F.cross_entropy(predictions, labels, weight=weights.to(predictions.dtype), reduction="sum")
    return _terms(summed, (weights * counts).sum(), None)  # the counts are global already


LOSS_FUNCTIONS: dict[str, Callable[[Tensor, Tensor, AllReduce | None], LossTerms]] = {
    name: globals()[name] for name in LOSSES
}
"""The function above of each loss in `grpe_dgl.objectives`."""


def _terms(summed: Tensor, normaliser: Tensor, all_reduce: AllReduce | None) -> LossTerms:
    normaliser = normaliser.to(device=summed.device, dtype=torch.float64)
    if all_reduce is not None:
        normaliser = all_reduce(normaliser)
    return LossTerms(summed, torch.where(normaliser > 0, normaliser, 1.0).to(summed.dtype))


def _full(predictions: Tensor) -> Tensor:
    """Return predictions in at least float32: a sum over a batch in bf16 would lose most of its digits."""
    return predictions.to(torch.promote_types(predictions.dtype, torch.float32))


def _present(predictions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return predictions and labels where there is a label, flat, and the mask (N, T)."""
    if predictions.shape != labels.shape:
        raise InputError(
            f"labels have shape {tuple(labels.shape)}; accepted: that of the predictions, {tuple(predictions.shape)}"
        )
    predictions = _full(predictions)
    present = ~torch.isnan(labels)
    return predictions[present], labels[present].to(predictions.dtype), present


def _classes(predictions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits (n, C) and class numbers (n,) of the n rows that have a label."""
    if predictions.dim() != 2 or labels.shape != predictions.shape[:1]:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; "
            "accepted: (N, classes) and (N,)"
        )
    present = labels >= 0
    predictions, labels = _full(predictions)[present], labels[present].long()
    if len(labels) and int(labels.max()) >= predictions.shape[1]:
        raise InputError(f"a label is {int(labels.max())}; accepted: 0..{predictions.shape[1] - 1}, or -1 for missing")
    return predictions, labels
