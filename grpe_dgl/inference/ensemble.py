"""One or more models of the same task, and the columns of their predictions in a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.inference.inputs import Chunk
from grpe_dgl.inference.predictor import Predictor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Ensemble:
    """Models of one task; their prediction is the mean, their spread the standard deviation of a sample."""

    members: Sequence[Predictor]

    def __post_init__(self) -> None:
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
        """The columns beside the numbers: the node, and the most likely class."""
        task = self.members[0].schema.task
        node = ["node"] if task.level == "node" else []
        return node + (["predicted_" + task.targets[0]] if task.kind == "multiclass" else [])

    @property
    def number_columns(self) -> list[str]:
        """The columns of the numbers: predictions or probabilities, and with several models their spread."""
        names = self.members[0].schema.task.output_columns()
        return names if len(self.members) == 1 else names + [f"{name}_spread" for name in names]

    def predict(self, chunk: Chunk) -> list[Array]:
        """Return the numbers of every graph of a chunk: (1 or nodes, number_columns) each."""
        each = [member.predict_chunk(chunk) for member in self.members]
        if len(each) == 1:
            return each[0]
        results = []
        for parts in zip(*each, strict=True):
            stacked = np.stack(parts)  # (models, rows, outputs)
            results.append(np.concatenate([stacked.mean(0), stacked.std(0, ddof=1)], -1))
        return results

    def texts(self, values: Array) -> list[list[str]]:
        """Return the cells of `text_columns` for the rows of one graph, of which `values` are the numbers."""
        task = self.members[0].schema.task
        cells: list[list[str]] = [[str(node)] if task.level == "node" else [] for node in range(len(values))]
        if task.kind == "multiclass":
            for row, best in zip(cells, values[:, : len(task.classes)].argmax(-1), strict=True):
                row.append(task.classes[int(best)])
        return cells
