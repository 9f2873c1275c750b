r"""The functions of the losses. Each returns a sum and its normaliser, so that several processes give the loss of one.

The mean over a batch that is divided among processes is the sum of their sums over the sum of their counts, not the
mean of their means: processes differ in how many labels are present, and the class weights of the weighted
cross-entropy come from the whole batch. So every loss returns this process's part of the sum and a normaliser that is
global. The argument `all_reduce` sums a tensor over processes; only label counts are communicated, never predictions.

DistributedDataParallel averages gradients over processes. Each of W processes therefore calls backward on
``W * sum / normaliser``, and the mean of those gradients is the gradient of ``all_reduce(sum) / normaliser``, the loss
of the whole batch. On one process that is `LossTerms.mean`.

A batch may be computed in parts. Then `counts`, the sum over parts and processes of `label_counts`, is given with each
part, and their sums, over one normaliser, add up to the loss of the batch. No function here reads a number of a tensor
that is not on the CPU: missing labels are masked, not left out, so that a GPU never waits for the host.

Labels may have weights (`grpe_dgl.training.label_weights`), of their own shape and 0 where there is no label. Then the
sum is of weight times loss, and the normaliser the sum of the weights.

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


def l1(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
    """Mean absolute error over the labels that are present.

    Parameters
    ----------
    predictions
        (N, T), for N graphs or nodes and T targets.
    labels
        (N, T); NaN where missing.
    all_reduce, counts, weights
        See the module.
    """
    predictions, targets, _ = _present(predictions, labels)
    return _terms(_weighted((predictions - targets).abs(), weights), "l1", labels, all_reduce, counts, weights)


def mse(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
    """Mean squared error over the labels that are present; arguments as for `l1`."""
    predictions, targets, _ = _present(predictions, labels)
    return _terms(_weighted((predictions - targets).square(), weights), "mse", labels, all_reduce, counts, weights)


def huber(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
    """Half the squared error where it is below 1, the absolute error less a half above; arguments as for `l1`.

    Its unit is that of training, in which standardised targets have a deviation of 1.
    """
    predictions, targets, _ = _present(predictions, labels)
    each = F.huber_loss(predictions, targets, reduction="sum" if weights is None else "none", delta=1.0)
    return _terms(_weighted(each, weights), "huber", labels, all_reduce, counts, weights)


def bce(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
    """Binary cross-entropy over the labels that are present.

    Parameters
    ----------
    predictions
        Logits, (N, T), for N graphs or nodes and T yes/no targets.
    labels
        0, 1, or NaN where missing, (N, T).
    all_reduce, counts, weights
        See the module.
    """
    predictions, targets, present = _present(predictions, labels)
    weight = (present if weights is None else weights).to(predictions.dtype)
    summed = F.binary_cross_entropy_with_logits(predictions, targets, weight=weight, reduction="sum")
    return _terms(summed, "bce", labels, all_reduce, counts, weights)


def cross_entropy(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
    """Cross-entropy over the labels that are present.

    Parameters
    ----------
    predictions
        Logits, (N, C), for N graphs or nodes and C classes.
    labels
        Class numbers 0..C-1, or -1 where missing, (N,).
    all_reduce, counts, weights
        See the module.
    """
    predictions = _classes(predictions, labels)
    if weights is None:
        summed = F.cross_entropy(predictions, labels.long(), ignore_index=-1, reduction="sum")
    else:
        each = F.cross_entropy(predictions, labels.long(), ignore_index=-1, reduction="none")
        summed = _weighted(each, weights)
    return _terms(summed, "cross_entropy", labels, all_reduce, counts, weights)


def weighted_cross_entropy(
    predictions: Tensor,
    labels: Tensor,
    all_reduce: AllReduce | None = None,
    counts: Tensor | None = None,
    weights: Tensor | None = None,
) -> LossTerms:
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
    all_reduce, counts, weights
        See the module.
    """
    predictions = _classes(predictions, labels)
    if counts is None:
        counts = label_counts("weighted_cross_entropy", labels, predictions.shape[1], weights)  # n_c, (C,)
        counts = counts if all_reduce is None else all_reduce(counts)
    total = counts.sum()
    total = torch.where(total > 0, total, 1.0)
    of_class = torch.where(counts > 0, (total - counts) / total, 0.0)  # w_c, (C,)
    each = F.cross_entropy(
        predictions,
        labels.long(),
        weight=of_class.to(predictions.dtype),
        ignore_index=-1,
        reduction="sum" if weights is None else "none",
    )
    summed = each if weights is None else _weighted(each, weights)
    return LossTerms(summed, _at_least_one_label((of_class * counts).sum(), summed.dtype))


def label_counts(loss: str, labels: Tensor, num_outputs: int, weights: Tensor | None = None) -> Tensor:
    """Return the counts of labels that normalise a loss, float64; those of parts of a batch add up.

    How many are present, (1,); for ``"weighted_cross_entropy"`` how many are of each class, (C,). With weights, the
    sums of their weights instead.

    Parameters
    ----------
    loss
        Its name.
    labels
        As the loss takes them, of any leading shape.
    num_outputs
        C, for classes.
    weights
        Of the labels' shape, 0 where there is no label; None counts every label as 1.
    """
    if weights is not None and loss != "weighted_cross_entropy":
        if not labels.is_floating_point():
            _require_classes(labels, num_outputs)
        return weights.sum(dtype=torch.float64).view(1)
    if labels.is_floating_point():
        return (~torch.isnan(labels)).sum(dtype=torch.float64).view(1)
    present = labels >= 0
    _require_classes(labels, num_outputs)
    if loss != "weighted_cross_entropy":
        return present.sum(dtype=torch.float64).view(1)
    counts = torch.zeros(num_outputs, dtype=torch.float64, device=labels.device)
    amount = present if weights is None else weights
    return counts.scatter_add(0, labels.flatten().clamp(min=0).long(), amount.flatten().double())


LOSS_FUNCTIONS: dict[str, Callable[..., LossTerms]] = {name: globals()[name] for name in LOSSES}
"""The function above of each loss in `grpe_dgl.objectives`."""


def _weighted(each: Tensor, weights: Tensor | None) -> Tensor:
    """Return the sum of the losses of labels, each times its weight if there are weights."""
    return each.sum() if weights is None else (each * weights.to(each.dtype)).sum()


def _terms(
    summed: Tensor,
    loss: str,
    labels: Tensor,
    all_reduce: AllReduce | None,
    counts: Tensor | None,
    weights: Tensor | None,
) -> LossTerms:
    if counts is None:
        counts = label_counts(loss, labels, labels.shape[-1] if labels.is_floating_point() else 2**31, weights)
        counts = counts if all_reduce is None else all_reduce(counts)
    return LossTerms(summed, _at_least_one_label(counts.sum(), summed.dtype))


def _at_least_one_label(normaliser: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(normaliser > 0, normaliser, 1.0).to(dtype)


def _full(predictions: Tensor) -> Tensor:
    """Return predictions in at least float32: a sum over a batch in bf16 would lose most of its digits."""
    return predictions.to(torch.promote_types(predictions.dtype, torch.float32))


def _present(predictions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return predictions and labels, zero where there is no label, and the mask of labels, (N, T) each."""
    if predictions.shape != labels.shape:
        raise InputError(
            f"labels have shape {tuple(labels.shape)}; accepted: that of the predictions, {tuple(predictions.shape)}"
        )
    predictions = _full(predictions)
    present = ~torch.isnan(labels)
    # Predictions too: a gradient of zero times one that is not finite would be NaN.
    return (
        torch.where(present, predictions, 0.0),
        torch.where(present, labels, 0.0).to(predictions.dtype),
        present,
    )


def _classes(predictions: Tensor, labels: Tensor) -> Tensor:
    """Return logits (N, C) in at least float32, zero for the rows without a label."""
    if predictions.dim() != 2 or labels.shape != predictions.shape[:1]:
        raise InputError(
            f"predictions have shape {tuple(predictions.shape)} and labels {tuple(labels.shape)}; "
            "accepted: (N, classes) and (N,)"
        )
    _require_classes(labels, predictions.shape[1])
    return torch.where((labels >= 0).unsqueeze(-1), _full(predictions), 0.0)


def _require_classes(labels: Tensor, num_classes: int) -> None:
    """Raise if a label is no class; labels on another device were checked before they were moved there."""
    if labels.device.type == "cpu" and labels.numel() and int(labels.max()) >= num_classes:
        raise InputError(f"a label is {int(labels.max())}; accepted: 0..{num_classes - 1}, or -1 for missing")
