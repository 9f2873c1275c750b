"""One or several models that predict the same, and what their predictions are called in a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.inference.output import Writer
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.rows import RowChunk

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Ensemble:
    """Models of one task; their prediction is the mean, their spread the standard deviation of a sample."""

    members: Sequence[Predictor]

    def __post_init__(self) -> None:
        first, *others = self.members
        for other in others:
            first.description.require_same_input(other.description, what=other.source)
            first.description.require_same_task(other.description, what=other.source)
            for key in ("targets", "classes"):
                ours, theirs = getattr(first.description.task, key), getattr(other.description.task, key)
                if ours != theirs:
                    raise InputError(
                        f"{first.source} and {other.source} predict different things: {key} {ours} and {theirs}"
                    )

    @property
    def text_columns(self) -> list[str]:
        """The columns beside the numbers: the node, and the most likely class."""
        task = self.members[0].description.task
        node = ["node"] if task.level == "node" else []
        return node + (["predicted_" + task.targets[0]] if task.kind == "multiclass" else [])

    @property
    def number_columns(self) -> list[str]:
        """The columns of the numbers: predictions or probabilities, and with several models their spread."""
        task = self.members[0].description.task
        if task.kind == "multiclass":
            names = [f"probability_{name}" for name in task.classes]
        else:
            prefix = "probability_" if task.kind == "binary" else "predicted_"
            names = [prefix + name for name in task.targets]
        return names if len(self.members) == 1 else names + [f"{name}_spread" for name in names]

    def predict(self, rows: RowChunk) -> list[Array]:
        """Return the numbers of every graph of a chunk: (1 or nodes, number_columns) each."""
        each = [member.chunk(rows, member.outputs) for member in self.members]
        if len(each) == 1:
            return each[0]
        results = []
        for parts in zip(*each, strict=True):
            stacked = np.stack(parts)  # (models, rows, outputs)
            results.append(np.concatenate([stacked.mean(0), stacked.std(0, ddof=1)], -1))
        return results

    def write(self, chunks: Iterable[RowChunk], writer: Writer) -> Iterable[tuple[int, int]]:
        """Predict and write chunk by chunk; yield after each how many rows it had and how many of them had no graph."""
        task = self.members[0].description.task
        width = len(self.number_columns)
        for rows in chunks:
            found = iter(self.predict(rows))
            texts: list[list[str]] = []
            numbers: list[Array] = []
            errors: list[str | None] = []
            for cells, error in zip(rows.cells, rows.errors, strict=True):
                if error is not None:
                    texts.append([*cells, *([""] * len(self.text_columns))])
                    numbers.append(np.full((1, width), np.nan))
                    errors.append(error)
                    continue
                values = next(found)
                for node, row in enumerate(values):
                    text = [*cells, *([str(node)] if task.level == "node" else [])]
                    if task.kind == "multiclass":
                        text.append(task.classes[int(row[: len(task.classes)].argmax())])
                    texts.append(text)
                numbers.append(values)
                errors += [None] * len(values)
            writer.write(texts, np.concatenate(numbers), errors)
            yield len(rows.cells), sum(error is not None for error in rows.errors)
