"""Predictions of every row of a table by the models of a cross-validation that did not train on it."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data.dataset import Dataset, Split
from grpe_dgl.data.resplit import resplit
from grpe_dgl.inference.inputs import label_cells
from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.training.evaluation import predict_split
from grpe_dgl.workflows.folds import FoldPlan
from grpe_dgl.workflows.plan import PlannedRun
from grpe_dgl.workflows.table_data import skipped_rows

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Fold:
    """One model of a cross-validation."""

    repeat: int
    number: int
    """Of the fold in its repeat, from 0."""
    planned: PlannedRun
    splits: dict[str, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class HeldOut:
    """Predictions of every graph by the models that did not train on it."""

    predictions: Array
    """(repeats, G, outputs): by the model whose fold the graph is in; NaN for graphs in no fold."""
    validated: Array
    """(repeats, G, outputs): by the model that chose its epoch with the graph, if there is one, else NaN."""
    fold_of: npt.NDArray[np.int64]
    """(repeats, G): -1 for graphs in no fold."""
    kind: str
    """Of the task."""

    @classmethod
    def of(cls, data: Dataset, folds: list[Fold], plan: FoldPlan) -> "HeldOut":
        """Predict with the models of finished folds."""
        shape = (plan.repeats, len(data), data.task.num_outputs)
        predictions, validated = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
        fold_of = np.full(shape[:2], -1, np.int64)
        for fold in folds:
            checkpoint = load_checkpoint(fold.planned.folder / "best.ckpt")
            own = resplit(data, fold.splits)
            predictions[fold.repeat, own.test.index] = predicted(checkpoint, own.test)
            if len(own.valid):
                validated[fold.repeat, own.valid.index] = predicted(checkpoint, own.valid)
            fold_of[fold.repeat, own.test.index] = fold.number
        return cls(predictions, validated, fold_of, data.task.kind)

    @property
    def mean(self) -> Array:
        """(G, outputs): the mean over the repeats."""
        return self.predictions.mean(0)

    @property
    def spread(self) -> Array:
        """(G, outputs): the standard deviation over the repeats, of a sample; 0 for one repeat."""
        return self.predictions.std(0, ddof=1) if len(self.predictions) > 1 else np.zeros_like(self.predictions[0])

    @property
    def outputs(self) -> torch.Tensor:
        """(G, outputs): `mean` as metrics take it, logits of a classification."""
        mean = torch.from_numpy(self.mean)
        if self.kind == "regression":
            return mean
        return mean.logit(1e-7) if self.kind == "binary" else mean.clamp(min=1e-12).log()

    def write(self, file: Path, data: Dataset, dataset_folder: Path) -> None:
        """Write the predictions of every row of the table; those that have none give the reason."""
        names, repeats = data.task.output_columns(), len(self.predictions)
        columns = ["row", "smiles", *data.task.targets, *names]
        columns += [f"{name}_spread" for name in names] if repeats > 1 else []
        columns += [f"fold_{repeat + 1}" for repeat in range(repeats)] if repeats > 1 else ["fold"]
        rows: dict[int, list[str]] = {}
        mean, spread = self.mean, self.spread
        for graph in range(len(data)):
            cells = [str(int(data.store.row[graph])), data.store.smiles(graph), *label_cells(data.store, graph)]
            inside = self.fold_of[0, graph] >= 0
            numbers = [*mean[graph], *(spread[graph] if repeats > 1 else [])]
            cells += [f"{value:.7g}" if inside else "" for value in numbers]
            cells += [str(fold + 1) if inside else "" for fold in self.fold_of[:, graph]]
            rows[int(data.store.row[graph])] = [*cells, "" if inside else "in no fold"]
        for row, reason in skipped_rows(dataset_folder):
            rows[row] = [str(row), *[""] * (len(columns) - 1), reason]
        with atomic_file(file) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*columns, "error"])
            writer.writerows(rows[row] for row in sorted(rows))


def predicted(checkpoint: Checkpoint, split: Split) -> Array:
    """Return a model's predictions for a split, (graphs, outputs), probabilities of a classification."""
    kind = checkpoint.schema.task.kind
    size = checkpoint.recipe.training.batch_size
    outputs = predict_split(
        checkpoint.model(), split, checkpoint.schema, batch_size=size, precision=checkpoint.recipe.training.precision
    )
    if kind == "regression":
        return outputs.numpy()
    return (outputs.sigmoid() if kind == "binary" else outputs.softmax(-1)).numpy()
