"""Calibrate the models of a run on rows that were kept back from training and from the choice of the epoch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data import load
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.resplit import resplit
from grpe_dgl.inference.calibration import Calibration, class_errors, number_errors
from grpe_dgl.training.evaluation import is_labelled
from grpe_dgl.workflows.folds import FoldPlan
from grpe_dgl.workflows.held_out import HeldOut, predicted

Array = npt.NDArray[Any]


def calibrate_split(dataset_folder: Path, models: Sequence[Path], rule: str, out: Path) -> Calibration | None:
    """Calibrate one or several models on the split ``test``, which none of them saw, and write ``calibration.json``.

    Returns None if that split has no labels.

    Parameters
    ----------
    dataset_folder
        The dataset of the models.
    models
        Their checkpoints, inside `out`.
    rule
        By which the rows were divided.
    out
        The folder of the run.
    """
    checkpoints = [load_checkpoint(path) for path in models]
    data = load(dataset_folder, view=checkpoints[0].recipe.model.view)
    if "test" not in data.splits or not len(data.test) or not is_labelled(data.test) or data.task.level != "graph":
        return None
    each = np.stack([predicted(checkpoint, data.test) for checkpoint in checkpoints])
    count = len(checkpoints)
    spread = each.std(0, ddof=1) if count > 1 else np.zeros_like(each[0])
    between: list[float | None] = [None] * each.shape[2]
    found = _calibration(data, data.test.labels().numpy(), each.mean(0), spread, between, (count, count),
                         {"method": "split", "split": rule, "models": _names(models, out)})  # fmt: skip
    found.write(out)
    return found


def calibrate_folds(data: Dataset, held_out: HeldOut, models: Sequence[Path], plan: FoldPlan, out: Path) -> Calibration:
    """Calibrate the ensemble of all folds on the predictions of every row by the models that never saw it."""
    inside = held_out.fold_of[0] >= 0
    labels = resplit(data, {"train": np.flatnonzero(inside)}).train.labels().numpy()
    between: list[float | None] = []
    for t in range(held_out.predictions.shape[2]):
        own, other = held_out.predictions[:, inside, t], held_out.validated[:, inside, t]
        if plan.repeats > 1:
            between.append(float(own.var(0, ddof=1).mean()))
            continue
        both = ~np.isnan(other[0])
        between.append(float(((own - other)[0, both] ** 2).mean() / 2) if both.any() else None)
    found = _calibration(data, labels, held_out.mean[inside], held_out.spread[inside], between,
                         (plan.repeats, len(models)),
                         {"method": "cross", "split": plan.split, "models": _names(models, out)})  # fmt: skip
    found.write(out)
    return found


def _calibration(
    data: Dataset,
    labels: Array,
    predictions: Array,
    spread: Array,
    between: Sequence[float | None],
    counts: tuple[int, int],
    facts: dict[str, Any],
) -> Calibration:
    """Return the calibration of every target from predictions, spread (n, outputs) and labels of rows kept back."""
    own, together = counts
    if data.task.kind == "multiclass":
        known = labels >= 0
        return Calibration(**facts, rows=int(known.sum()), classes=[class_errors(predictions[known], labels[known])])
    known = ~np.isnan(labels)
    rows = int(known.any(1).sum())
    targets = range(labels.shape[1])
    if data.task.kind == "binary":
        both = np.stack([1.0 - predictions, predictions], -1)  # (n, targets, 2)
        errors = [class_errors(both[known[:, t], t], labels[known[:, t], t].astype(np.int64)) for t in targets]
        return Calibration(**facts, rows=rows, classes=errors)
    numbers = [
        number_errors(predictions[known[:, t], t], labels[known[:, t], t], spread[known[:, t], t],
                      own=own, together=together, between=between[t])
        for t in targets
    ]  # fmt: skip
    return Calibration(**facts, rows=rows, numbers=numbers)


def _names(models: Sequence[Path], out: Path) -> list[str]:
    return [str(path.relative_to(out)) for path in models]
