"""One or more models of the same task, and the columns of their predictions in a table."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.inference.calibration import Calibration
from grpe_dgl.inference.inputs import Chunk
from grpe_dgl.inference.predictor import Predictor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Ensemble:
    """Models of one task; their prediction is the mean, their spread the standard deviation of a sample."""

    members: Sequence[Predictor]
    calibration: Calibration | None = None
    """Of these models together; needed for intervals."""
    level: float | None = None
    """Of the intervals or prediction sets that are added; None for none."""

    def __post_init__(self) -> None:
        if self.level is not None:
            if self.calibration is None:
                raise InputError(
                    "intervals of models without a calibration; accepted: the models of a run that has one"
                )
            self.calibration.require(self.level)
        first, *others = self.members
        for other in others:
            first.schema.require_same_input(other.schema, what=other.source, model=first.source)
            first.schema.require_same_task(other.schema, what=other.source, model=first.source)
            if first.schema.standardised_molecules != other.schema.standardised_molecules:
                raise InputError(
                    f"one of {first.source} and {other.source} standardises molecules, the other does not; accepted: "
                    "models that read the same molecules"
                )
            for key in ("targets", "classes", "positive", "negative"):
                ours, theirs = getattr(first.schema.task, key), getattr(other.schema.task, key)
                if ours != theirs:
                    raise InputError(
                        f"{first.source} and {other.source} predict different things: {key} {ours} and {theirs}"
                    )

    @property
    def text_columns(self) -> list[str]:
        """The columns beside the numbers: the node, the most likely class, and the sets of classes."""
        task = self.members[0].schema.task
        node = ["node"] if task.level == "node" else []
        likely = ["predicted_" + task.targets[0]] if task.kind == "multiclass" else []
        if self.thresholds is not None:
            likely = [f"predicted_{target}" for target in task.targets]
        return node + likely + (self.calibration.set_columns(task) if self.calibration and self.level else [])

    @functools.cached_property
    def thresholds(self) -> Array | None:
        """(T,): yes/no targets, the mean of the models' thresholds; None unless all of them have some."""
        each = [member.checkpoint.thresholds for member in self.members]
        if self.members[0].schema.task.kind != "binary" or any(own is None for own in each):
            return None
        return np.array(each, np.float64).mean(0)

    @property
    def number_columns(self) -> list[str]:
        """The columns of the numbers: predictions or probabilities, with several models their spread, and intervals."""
        task = self.members[0].schema.task
        names = task.output_columns()
        spread = [f"{name}_spread" for name in names] if len(self.members) > 1 else []
        return names + spread + (self.calibration.number_columns(task) if self.calibration and self.level else [])

    def predict(self, chunk: Chunk) -> list[Array]:
        """Return the numbers of every graph of a chunk: (1 or nodes, number_columns) each."""
        each = [member.predict_chunk(chunk) for member in self.members]
        if len(each) == 1 and self.level is None:
            return each[0]
        results = []
        for parts in zip(*each, strict=True):
            stacked = np.stack(parts)  # (models, rows, outputs)
            mean = stacked.mean(0)
            spread = stacked.std(0, ddof=1) if len(parts) > 1 else np.zeros_like(mean)
            columns = [mean, *([spread] if len(parts) > 1 else [])]
            if self.calibration is not None and self.level is not None:
                columns.append(self.calibration.extend(self.members[0].schema.task, mean, spread, self.level))
            results.append(np.concatenate(columns, -1))
        return results

    def texts(self, values: Array) -> list[list[str]]:
        """Return the cells of `text_columns` for the rows of one graph, of which `values` are the numbers."""
        task = self.members[0].schema.task
        cells: list[list[str]] = [[str(node)] if task.level == "node" else [] for node in range(len(values))]
        if task.kind == "multiclass":
            for row, best in zip(cells, values[:, : len(task.classes)].argmax(-1), strict=True):
                row.append(task.classes[int(best)])
        if self.thresholds is not None:
            pairs = list(zip(task.negative, task.positive, strict=True)) or [("0", "1")] * len(task.targets)
            for row, numbers in zip(cells, values[:, : len(pairs)], strict=True):
                above = numbers > self.thresholds
                row.extend(pair[int(yes)] for pair, yes in zip(pairs, above, strict=True))
        if self.calibration is not None and self.level is not None:
            added = len(self.calibration.number_columns(task))
            for row, names in zip(cells, self.calibration.sets(task, values[:, -added:], self.level), strict=True):
                row.extend(names)
        return cells
