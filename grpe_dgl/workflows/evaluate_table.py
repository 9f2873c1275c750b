"""Measure one or several models on a table of molecules that has the targets."""

import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.identity import graph_hashes
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.tables.bad_labels import problem_of, refuse_bad_labels
from grpe_dgl.data.tables.missing import is_missing
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.table import Table
from grpe_dgl.data.tables.targets import PLAIN, read_labels
from grpe_dgl.errors import InputError
from grpe_dgl.inference.ensemble import Ensemble
from grpe_dgl.inference.inputs import SIZE, Chunk, read
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.messages import counted
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Task
from grpe_dgl.training.evaluation import by_target, compute
from grpe_dgl.training.thresholds import shift_to_thresholds
from grpe_dgl.workflows.evaluate import Evaluation

SHOWN = 5  # molecules that cannot be read, in a warning


def evaluate_table(
    models: Checkpoint | Ensemble,
    file: Path,
    *,
    smiles: str | None = None,
    sheet: str | None = None,
    metrics: Sequence[str] = (),
    numbers: NumberFormat | None = None,
    bad_labels_file: Path | None = None,
    allow_overlap: bool = False,
    max_nodes: int = MAX_NODES,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Predict the molecules of a table and compare the predictions with its columns of the model's targets.

    Rows whose molecule cannot be read are left out, with a warning that counts them and gives the first reasons.

    Parameters
    ----------
    models
        A model of molecules, of a task per graph, or several, whose mean is measured.
    file
        A table with a column of molecules, and one for every target by its name. Classes are called as the model's.
    smiles, sheet
        The column of the molecules, None for the usual names, and the sheet of a workbook.
    metrics
        What to measure; the metric the model was trained for if empty.
    numbers
        How numbers are written.
    bad_labels_file
        Where all labels that are not of the model's task are listed, as CSV, if there are any; None for nowhere.
    allow_overlap
        Whether molecules that a model was trained on may be among them; otherwise they are refused.
    max_nodes
        Molecules of more atoms are left out.
    device
        Where the model of a checkpoint runs.
    progress
        Called after every few hundred rows with their number so far and of all.
    """
    ensemble = models if isinstance(models, Ensemble) else Ensemble([Predictor(models, device=device)])
    first = ensemble.members[0]
    first.require_molecules()
    task, standardised = first.schema.task, first.schema.standardised_molecules
    if task.level != "graph":
        raise InputError(f"{first.source} predicts atoms; accepted with a table: a model of whole molecules")
    names = tuple(metrics) or (first.checkpoint.recipe.training.metric or task.metric,)
    for name in names:
        if name not in METRICS_OF_KIND[task.kind]:
            accepted = ", ".join(METRICS_OF_KIND[task.kind])
            raise InputError(f"the metric is {name!r}; accepted for {task.kind}: {accepted}")
    numbers = numbers or NumberFormat()
    table = Table(file, sheet=sheet)
    place, places = table.smiles_place(smiles), [table.place(target) for target in task.targets]
    _require_labels(table, task, numbers, bad_labels_file)
    total, done, trained_on = table.count(), 0, 0
    outputs, labels, unread = [], [], []
    rows = enumerate(table.rows())
    while some := list(islice(rows, SIZE)):
        molecules = [cells[place].strip() for _, (_, cells) in some]
        chunk = read(molecules, max_nodes, standardised)
        unread += [f"row {number}: {why}" for (number, _), why in zip(some, chunk.errors, strict=True) if why]
        kept: list[Row] = [row for (_, row), why in zip(some, chunk.errors, strict=True) if why is None]
        if kept:
            outputs.append(np.concatenate(ensemble.predict(chunk))[:, : task.num_outputs])
            labels.append(read_labels(kept, places, task, numbers))
            trained_on += _count_training([member.checkpoint for member in ensemble.members], chunk)
        done += len(some)
        if progress is not None:
            progress(done, total)
    if unread:
        more = f"; and {len(unread) - SHOWN:,} more" if len(unread) > SHOWN else ""
        warnings.warn(f"{counted(len(unread), 'row')} left out: {'; '.join(unread[:SHOWN])}{more}", stacklevel=2)
    if not outputs:
        raise InputError(f"{file} has no row with a molecule that can be read")
    if trained_on and not allow_overlap:
        raise InputError(
            f"{trained_on:,} of the {counted(sum(map(len, labels)), 'molecule')} of {file} are among the training "
            "molecules of the model: the result would look better than it is",
            hint="measure_anyway",
        )
    predictions = _as_outputs(torch.from_numpy(np.concatenate(outputs)), task)
    truth = torch.from_numpy(np.concatenate(labels))
    known = int((truth >= 0).sum() if truth.dtype == torch.int64 else (~truth.isnan()).sum())
    if not known:
        raise InputError(f"{file} has no label in {', '.join(map(repr, task.targets))}; accepted: a table with some")
    thresholds = None if ensemble.thresholds is None else tuple(map(float, ensemble.thresholds))
    return Evaluation(
        dataset=file.name,
        task=task,
        split="all rows",
        graphs=len(truth),
        labels=known,
        predictions=predictions,
        metrics={
            name: compute(name, shift_to_thresholds(name, predictions, thresholds), truth, None) for name in names
        },
        thresholds=thresholds,
        per_target=by_target(predictions, truth, task, names, thresholds),
    )


def _require_labels(table: Table, task: Task, numbers: NumberFormat, listing: Path | None) -> None:
    """Raise unless the labels of all rows are numbers, or classes of the model, or missing."""
    pairs = list(zip(task.negative, task.positive, strict=True)) or [PLAIN] * len(task.targets)
    named = [task.classes] if task.kind == "multiclass" else [None if pair == PLAIN else pair for pair in pairs]

    def check(target: int, cell: str) -> tuple[str, str] | None:
        if task.kind == "regression":
            return None if numbers.parse(cell) is not None else problem_of(cell, numbers)
        classes = named[target]
        if classes is None:
            return None if numbers.parse(cell) in (0.0, 1.0) else ("class", "is neither 0 nor 1")
        return None if cell.strip() in classes else ("class", f"is none of the model's classes, {', '.join(classes)}")

    places = [table.place(target) for target in task.targets]
    for _, cells in table.rows():
        if any(not is_missing(cells[place]) and check(t, cells[place]) is not None for t, place in enumerate(places)):
            classes = {"regression": numbers.described(), "binary": "0 or 1"}.get(task.kind, "a class of the model")
            accepted = f"{'a class of the model' if any(named) else classes}, or blank for a missing label"
            raise refuse_bad_labels(table, task.targets, check, listing, accepted)


def _count_training(checkpoints: Sequence[Checkpoint], chunk: Chunk) -> int:
    """Return how many graphs of a chunk one of the models was trained on; 0 where that is not recorded."""
    known = [
        identity.training_graphs
        for checkpoint in checkpoints
        if (identity := checkpoint.data_identity) is not None and identity.training_graphs is not None
    ]
    if not known:
        return 0
    hashes = graph_hashes(chunk.arrays, chunk.graphs)
    return int(np.logical_or.reduce([np.isin(hashes, graphs) for graphs in known]).sum())


def _as_outputs(predictions: torch.Tensor, task: Task) -> torch.Tensor:
    """Return predictions as metrics take them: logits of a classification."""
    if task.kind == "regression":
        return predictions
    return predictions.logit(1e-7) if task.kind == "binary" else predictions.clamp(min=1e-12).log()
