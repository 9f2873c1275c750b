"""Calibrate the models of a run on rows that were kept back from training and from the choice of the epoch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data import load
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.resplit import resplit
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.inference.calibration import PUBLISHED, Calibration, class_errors, number_errors
from grpe_dgl.io.run_models import BEST
from grpe_dgl.schema import Task
from grpe_dgl.training.evaluation import is_labelled
from grpe_dgl.training.predictions import Predictions
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.workflows.folds import FoldPlan
from grpe_dgl.workflows.held_out import HeldOut, predicted
from grpe_dgl.workflows.plan import FinishedRun

MOST_LABELS = 500_000
"""Of more labels every second, third, ... row is taken, so that ``calibration.json`` stays a small file."""
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
    found = _calibration(data.task, data.test.labels().numpy(), each.mean(0), spread, between, (count, count),
                         {"method": "split", "split": rule, "models": _names(models, out)})  # fmt: skip
    found.write(out)
    return found


def calibrate_runs(finished: Sequence[FinishedRun], dataset_folder: Path, out: Path) -> dict[Path, Calibration]:
    """Calibrate the models of an experiment by the predictions for the split ``test`` that their runs keep.

    The models of all seeds of a variant are calibrated together, as they predict together. Each folder of such models,
    `out` itself or one per variant, gets a ``calibration.json`` and is a key of the result. Tasks per node, and data
    whose test split has no labels, have none.
    """
    together: dict[Path, list[FinishedRun]] = {}
    for run in finished:
        folder = out if run.planned.variant is None else out / run.planned.variant
        together.setdefault(folder, []).append(run)
    manifest = Manifest.read(dataset_folder)
    if manifest.schema.task.level != "graph":
        return {}
    rule = str(manifest.settings.get("split") or PUBLISHED)
    found = {}
    for folder, runs in together.items():
        files = [RunFolder(run.planned.folder).predictions("test") for run in runs]
        if all(file.exists() for file in files):
            models = [run.planned.folder / BEST for run in runs]
            found[folder] = _of_files(files, models, manifest.schema.task, rule, folder)
    return found


def _of_files(files: Sequence[Path], models: Sequence[Path], task: Task, rule: str, out: Path) -> Calibration:
    """Calibrate models on the predictions in files, of at most `MOST_LABELS` labels."""
    kept = [Predictions.read(file) for file in files]
    step = -(-kept[0].labels.size // MOST_LABELS) or 1
    each = np.stack([_in_task(one.predictions[::step], task) for one in kept])
    count = len(files)
    spread = each.std(0, ddof=1) if count > 1 else np.zeros_like(each[0])
    found = _calibration(task, kept[0].labels[::step], each.mean(0), spread, [None] * each.shape[2], (count, count),
                         {"method": "split", "split": rule, "models": _names(models, out)})  # fmt: skip
    found.write(out)
    return found


def _in_task(outputs: Array, task: Task) -> Array:
    """Return the predictions of a file as `predicted` does: of a classification probabilities, not logits."""
    values = torch.from_numpy(outputs)
    if task.kind == "regression":
        return outputs
    return np.asarray((values.sigmoid() if task.kind == "binary" else values.softmax(-1)).numpy())


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
    found = _calibration(data.task, labels, held_out.mean[inside], held_out.spread[inside], between,
                         (plan.repeats, len(models)),
                         {"method": "cross", "split": plan.split, "models": _names(models, out)})  # fmt: skip
    found.write(out)
    return found


def calibrate_final(data: Dataset, held_out: HeldOut, plan: FoldPlan, model: Path) -> Calibration:
    """Calibrate the model of all rows by the errors of single models of the folds, each on rows it never saw.

    Those were trained on fewer rows than it, so its intervals are rather too wide than too narrow. The errors are those
    of the first repeat, so that every row counts once.
    """
    inside = held_out.fold_of[0] >= 0
    labels = resplit(data, {"train": np.flatnonzero(inside)}).train.labels().numpy()
    single = held_out.predictions[0, inside]
    found = _calibration(data.task, labels, single, np.zeros_like(single), [None] * single.shape[1], (1, 1),
                         {"method": "cross", "split": plan.split, "models": [model.name]})  # fmt: skip
    found.write(model.parent)
    return found


def _calibration(
    task: Task,
    labels: Array,
    predictions: Array,
    spread: Array,
    between: Sequence[float | None],
    counts: tuple[int, int],
    facts: dict[str, Any],
) -> Calibration:
    """Return the calibration of every target from predictions, spread (n, outputs) and labels of rows kept back."""
    own, together = counts
    if task.kind == "multiclass":
        known = labels >= 0
        return Calibration(**facts, rows=int(known.sum()), classes=[class_errors(predictions[known], labels[known])])
    known = ~np.isnan(labels)
    rows = int(known.any(1).sum())
    targets = range(labels.shape[1])
    if task.kind == "binary":
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
