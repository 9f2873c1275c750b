"""Cross-validation of a table: a model per fold, predictions of every row by models that never saw it, one ensemble."""

import contextlib
import dataclasses
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data import load
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.resplit import resplit
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.inference.calibration import Calibration
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.io.run_models import FOLDS
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import measure, require_validation
from grpe_dgl.training.launcher import forget, launchers
from grpe_dgl.training.run import run
from grpe_dgl.training.stop_request import StopRequest
from grpe_dgl.workflows.calibrate import calibrate_final, calibrate_folds
from grpe_dgl.workflows.experiment import ExperimentCallbacks, prepare_folder
from grpe_dgl.workflows.folds import FoldPlan, assign_folds, fold_groups, shared_molecules, split_of_fold
from grpe_dgl.workflows.held_out import Fold, HeldOut
from grpe_dgl.workflows.plan import FinishedRun, PlannedRun
from grpe_dgl.workflows.summary import summarise, write_summary

FINAL = "final"
PREDICTIONS = "predictions.csv"


@dataclass(frozen=True)
class CrossValidation:
    """The result of a cross-validation."""

    finished: list[FinishedRun]
    summary: dict[str, Any]
    """The content of ``summary.json``."""
    notes: list[str]
    """What a user should know, such as molecules in several folds."""
    calibration: Calibration | None = None
    """None in all processes but the first."""
    final: Path | None = None
    """The checkpoint of the model of all rows, if one was trained."""


def cross_validate(
    recipe: Recipe,
    dataset_folder: Path,
    table: Table,
    out: Path,
    plan: FoldPlan,
    *,
    final: bool = False,
    resume: bool = False,
    processes: Processes = SINGLE,
    stop: StopRequest | None = None,
    start: Any = None,
    callbacks: ExperimentCallbacks | None = None,
) -> CrossValidation:
    """Train a model for every fold and repeat, predict every row by the models that never saw it, and compare.

    The folder gets ``recipe.yaml``, ``folds.json``, a folder per fold (``fold-1``, or ``repeat-1/fold-1``),
    ``predictions.csv``, ``summary.json``, ``table.md`` and ``calibration.json``, which prediction intervals need.

    Parameters
    ----------
    recipe
        Without variants, for one seed.
    dataset_folder
        The dataset of all rows of the table; its splits are not used.
    table
        What the dataset was made of.
    out
        The folder: new, or with `resume` one that was begun with the same recipe and plan.
    plan
        How many folds, and by which rule.
    final
        Whether to train one more model on all rows, for the median of the folds' best epochs; it is calibrated by the
        errors of the folds.
    resume, processes, stop, start, callbacks
        See `grpe_dgl.workflows.experiment.run_experiment`.
    """
    callbacks = callbacks or ExperimentCallbacks()
    data = load(dataset_folder, view=recipe.model.view)
    recipe = recipe.fit_to_task(data.task)
    if recipe.training.runs != 1:
        raise InputError(f"training.runs is {recipe.training.runs}; accepted with folds: 1, and more repeats instead")
    groups = fold_groups(data.store, plan, table)
    folds, notes = _plan_folds(recipe, data, out, plan, groups)
    launched_by = launchers(processes)
    with contextlib.ExitStack() as stack:
        if processes.is_main:
            prepare_folder(recipe, out, resume=resume, launched_by=launched_by, stack=stack)
            _write_plan(plan, out)
            prepare_encodings(data.store, data.view.encodings)
        processes.wait()
        callbacks.start(resplit(data, folds[0].splits))
        finished = []
        for fold in folds:
            own = resplit(data, fold.splits)
            with callbacks.run(fold.planned, own) as of_run:
                results = run(fold.planned.recipe, own, fold.planned.folder, start=start, processes=processes,
                              stop=stop, callbacks=of_run)  # fmt: skip
            finished.append(FinishedRun(fold.planned, results))
            callbacks.finish(finished[-1])
        summary: dict[str, Any] = {}
        calibration, held_out = None, None
        if processes.is_main:
            held_out = HeldOut.of(data, folds, plan)
            held_out.write(out / PREDICTIONS, data, dataset_folder)
            calibration = calibrate_folds(
                data, held_out, [fold.planned.folder / "best.ckpt" for fold in folds], plan, out
            )
            summary = _summary(finished, recipe, data, held_out, plan)
            write_summary(summary, out)
        checkpoint = None
        if final:
            checkpoint = _train_final(recipe, data, groups, out, finished, stack, processes, stop, start, callbacks)
            if held_out is not None:
                calibrate_final(data, held_out, plan, checkpoint)
        if processes.is_main:
            forget(out)
    return CrossValidation(finished, summary, notes, calibration, checkpoint)


def _plan_folds(
    recipe: Recipe, data: Dataset, out: Path, plan: FoldPlan, groups: npt.NDArray[np.int64]
) -> tuple[list[Fold], list[str]]:
    """Return the folds with their splits, checked, and notes for the user."""
    folds, notes = [], []
    strata = _strata(data)
    if left_out := int((groups < 0).sum()):
        notes.append(f"{left_out:,} rows are in no fold: column {plan.column!r} is blank")
    for repeat in range(plan.repeats):
        fold_of = assign_folds(groups, plan.folds, plan.seed + repeat, strata)
        shared = shared_molecules(data.store, fold_of)
        if shared and not repeat:
            notes.append(
                f"{shared:,} molecules occur in more than one fold, as column {plan.column!r} has it: what is measured "
                "on them is better than on new molecules"
            )
        for number in range(plan.folds):
            seed = recipe.training.seed + repeat * plan.folds + number
            one = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, seed=seed))
            folder = out / f"fold-{number + 1}"
            name = f"fold {number + 1}"
            if plan.repeats > 1:
                folder, name = out / f"repeat-{repeat + 1}" / folder.name, f"repeat {repeat + 1}, {name}"
            splits = split_of_fold(groups, fold_of, number, plan.valid, plan.seed + repeat, strata)
            assert recipe.training.metric is not None
            try:
                require_validation(resplit(data, splits), recipe.training.metric)
            except InputError as error:
                raise InputError(f"{name}: {error}", hint=error.hint, value=error.value) from None
            folds.append(Fold(repeat, number, PlannedRun(name, one, folder), splits))
    return folds, notes


def _strata(data: Dataset) -> npt.NDArray[np.int64] | None:
    """Return the class of each graph, of the first target of a classification; None for a regression."""
    if data.task.kind == "regression":
        return None
    label = np.asarray(data.store.label)
    return (label if label.ndim == 1 else label[:, 0]).astype(np.int64)


def _write_plan(plan: FoldPlan, out: Path) -> None:
    """Write ``folds.json``, or raise if a run is resumed with another plan."""
    file = out / FOLDS
    if not file.exists():
        if any(out.glob("*/best.ckpt")):
            raise InputError(f"{out} is not a cross-validation: it has no {FOLDS}")
        write_text(file, json.dumps(plan.to_dict(), indent=2) + "\n")
        return
    saved = json.loads(file.read_text(encoding="utf-8"))
    differences = [
        f"{key} is {saved.get(key)!r} there, {value!r} was asked for"
        for key, value in plan.to_dict().items()
        if saved.get(key) != value
    ]
    if differences:
        raise InputError(f"{file} is of other folds: {'; '.join(differences)}")


def _summary(
    finished: list[FinishedRun], recipe: Recipe, data: Dataset, held_out: HeldOut, plan: FoldPlan
) -> dict[str, Any]:
    """Return mean and deviation over the splits, and the metric of all held-out predictions together."""
    plain = [FinishedRun(dataclasses.replace(run.planned, variant=None), run.results) for run in finished]
    summary = summarise(plain, recipe)
    inside = held_out.fold_of[0] >= 0
    labels = resplit(data, {"train": np.flatnonzero(inside)}).train.labels()
    metric = recipe.training.metric
    assert metric is not None
    summary["folds"] = plan.to_dict()
    summary["held_out"] = {
        "metric": metric,
        "value": measure(metric, held_out.outputs[inside], labels),
        "rows": int(inside.sum()),
    }
    summary["best_epochs"] = [run.results["best_epoch"] for run in finished]
    return summary


def final_epochs(finished: list[FinishedRun]) -> int:
    """Return the median of the folds' best epochs, the higher of two."""
    epochs = [run.results["best_epoch"] or run.results["epochs"] for run in finished]
    return int(statistics.median_high(epochs))


def _train_final(
    recipe: Recipe,
    data: Dataset,
    groups: npt.NDArray[np.int64],
    out: Path,
    finished: list[FinishedRun],
    stack: contextlib.ExitStack,
    processes: Processes,
    stop: StopRequest | None,
    start: Any,
    callbacks: ExperimentCallbacks,
) -> Path:
    """Train one model on all rows, with the learning rates of the folds, until the median of their best epochs."""
    changed = recipe.override({"training.stop_after_epochs": final_epochs(finished), "training.early_stopping": None})
    everything = {"train": np.flatnonzero(groups >= 0), "valid": np.zeros(0, np.int64)}
    planned = PlannedRun("final, all rows", changed, out / FINAL)
    own = resplit(data, everything)
    with callbacks.run(planned, own) as of_run:
        results = run(changed, own, planned.folder, start=start, processes=processes, stop=stop, callbacks=of_run)
    callbacks.finish(FinishedRun(planned, results))
    return planned.folder / "best.ckpt"
