"""Measure a model on a table of molecules that has the targets."""

import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.identity import graph_hashes
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.tables.missing import is_missing
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.table import Table
from grpe_dgl.data.tables.targets import PLAIN, read_labels
from grpe_dgl.errors import InputError
from grpe_dgl.inference.inputs import SIZE, Chunk, read
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.messages import counted, short
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Task
from grpe_dgl.training.evaluation import by_target, compute
from grpe_dgl.training.thresholds import shift_to_thresholds
from grpe_dgl.workflows.evaluate import Evaluation

SHOWN = 5  # molecules that cannot be read, in a warning


def evaluate_table(
    checkpoint: Checkpoint,
    file: Path,
    *,
    smiles: str | None = None,
    sheet: str | None = None,
    metrics: Sequence[str] = (),
    numbers: NumberFormat | None = None,
    allow_overlap: bool = False,
    max_nodes: int = MAX_NODES,
    device: torch.device | str = "cpu",
    source: str = "the model",
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Predict the molecules of a table and compare the predictions with its columns of the model's targets.

    Rows whose molecule cannot be read are left out, with a warning that counts them and gives the first reasons.

    Parameters
    ----------
    checkpoint
        A model of molecules, of a task per graph.
    file
        A table with a column of molecules, and one for every target by its name. Classes are called as the model's.
    smiles, sheet
        The column of the molecules, None for the usual names, and the sheet of a workbook.
    metrics
        What to measure; the metric the model was trained for if empty.
    numbers
        How numbers are written.
    allow_overlap
        Whether molecules that the model was trained on may be among them; otherwise they are refused.
    max_nodes
        Molecules of more atoms are left out.
    device
        Where the model runs.
    source
        Names the model in errors.
    progress
        Called after every few hundred rows with their number so far and of all.
    """
    task = checkpoint.schema.task
    predictor = Predictor(checkpoint, device=device, source=source)
    predictor.require_molecules()
    if task.level != "graph":
        raise InputError(f"{source} predicts atoms; accepted with a table: a model of whole molecules")
    names = tuple(metrics) or (checkpoint.recipe.training.metric or task.metric,)
    for name in names:
        if name not in METRICS_OF_KIND[task.kind]:
            accepted = ", ".join(METRICS_OF_KIND[task.kind])
            raise InputError(f"the metric is {name!r}; accepted for {task.kind}: {accepted}")
    numbers = numbers or NumberFormat()
    table = Table(file, sheet=sheet)
    place, places = table.smiles_place(smiles), [table.place(target) for target in task.targets]
    total, done, trained_on = table.count(), 0, 0
    outputs, labels, unread = [], [], []
    rows = enumerate(table.rows())
    while some := list(islice(rows, SIZE)):
        for number, (line, cells) in some:
            _check_labels(table, number, line, cells, places, task, numbers)
        molecules = [cells[place].strip() for _, (_, cells) in some]
        chunk = read(molecules, max_nodes, checkpoint.schema.standardised_molecules)
        unread += [f"row {number}: {why}" for (number, _), why in zip(some, chunk.errors, strict=True) if why]
        kept: list[Row] = [row for (_, row), why in zip(some, chunk.errors, strict=True) if why is None]
        if kept:
            outputs.append(np.concatenate(predictor.predict_chunk(chunk)))
            labels.append(read_labels(kept, places, task, numbers))
            trained_on += _count_training(checkpoint, chunk)
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
    return Evaluation(
        dataset=file.name,
        task=task,
        split="all rows",
        graphs=len(truth),
        labels=known,
        predictions=predictions,
        metrics={
            name: compute(name, shift_to_thresholds(name, predictions, checkpoint.thresholds), truth, None)
            for name in names
        },
        thresholds=checkpoint.thresholds,
        per_target=by_target(predictions, truth, task, names, checkpoint.thresholds),
    )


def _check_labels(
    table: Table, row: int, line: int, cells: Sequence[str], places: Sequence[int], task: Task, numbers: NumberFormat
) -> None:
    """Raise unless the labels of a row are numbers, or classes of the model, or missing."""
    pairs = list(zip(task.negative, task.positive, strict=True)) or [PLAIN] * len(places)
    for t, place in enumerate(places):
        cell = cells[place]
        if is_missing(cell):
            continue
        if task.kind == "regression":
            right, accepted = numbers.parse(cell) is not None, numbers.described()
        elif task.kind == "multiclass" or pairs[t] != PLAIN:
            classes = task.classes if task.kind == "multiclass" else pairs[t]
            right, accepted = cell.strip() in classes, ", ".join(classes)
        else:
            right, accepted = numbers.parse(cell) in (0.0, 1.0), "0 or 1"
        if not right:
            raise InputError(
                f"{table.at(row, line)}, column {task.targets[t]!r}: {short(cell)}; accepted: {accepted}, or blank for "
                "a missing label"
            )


def _count_training(checkpoint: Checkpoint, chunk: Chunk) -> int:
    """Return how many graphs of a chunk the model was trained on; 0 where that is not recorded."""
    identity = checkpoint.data_identity
    if identity is None or identity.training_graphs is None:
        return 0
    return int(np.isin(graph_hashes(chunk.arrays, chunk.graphs), identity.training_graphs).sum())


def _as_outputs(predictions: torch.Tensor, task: Task) -> torch.Tensor:
    """Return predictions as metrics take them: logits of a classification."""
    if task.kind == "regression":
        return predictions
    return predictions.logit(1e-7) if task.kind == "binary" else predictions.clamp(min=1e-12).log()
