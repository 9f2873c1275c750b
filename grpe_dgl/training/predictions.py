"""The file of a model's predictions for a split, beside the labels: ``predictions_SPLIT.npz``."""

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from grpe_dgl.data.dataset import Split
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import atomic_file

SPLITS = ("valid", "test")
"""The splits whose predictions a run keeps, where they have labels."""
_DAMAGED = (
    OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class Predictions:
    """Predictions for a split with the labels, row by row in the split's order."""

    index: npt.NDArray[np.int64]
    """(n,): the number of each row's graph in the dataset; for a task per node, of the node's graph."""
    node: npt.NDArray[np.int64] | None
    """(n,): for a task per node, the node's number in its graph; None for a task per graph."""
    predictions: npt.NDArray[np.float32]
    """(n, outputs): for regression in the unit of the labels, else logits: one per target or class."""
    labels: npt.NDArray[Any]
    """(n, targets) float32, NaN for a missing one, or (n,) int64 class numbers, -1 for a missing one."""

    @classmethod
    def of(cls, split: Split, predictions: Tensor) -> Self:
        """Return the result of `grpe_dgl.training.evaluation.predict_split` for `split` beside its labels."""
        index, node = split.index, None
        if split.dataset.task.level == "node":
            counts = split.dataset.num_real_nodes(index)
            before = np.cumsum(counts) - counts
            node = np.arange(counts.sum()) - np.repeat(before, counts)
            index = np.repeat(index, counts)
        return cls(index, node, predictions.float().cpu().numpy(), split.labels().cpu().numpy())

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        arrays: dict[str, Any] = {"index": self.index, "predictions": self.predictions, "labels": self.labels}
        if self.node is not None:
            arrays["node"] = self.node
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what `write` wrote; a file that is damaged or holds anything else is an InputError."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                content = {name: arrays[name] for name in arrays.files}
        except FileNotFoundError:
            raise InputError(f"there is no file {path}") from None
        except _DAMAGED as error:
            raise InputError(f"{path} is damaged: it cannot be read as arrays ({error})") from None
        return cls._checked(content, path)

    @classmethod
    def _checked(cls, content: dict[str, Any], path: Path) -> Self:
        if not {"index", "predictions", "labels"} <= content.keys():
            found = ", ".join(content) or "nothing"
            raise InputError(f"{path} holds {found}; accepted: index, predictions and labels")
        index, predictions, labels = content["index"], content["predictions"], content["labels"]
        node = content.get("node")
        columns = [index, *([] if node is None else [node])]
        fits = (
            all(column.ndim == 1 and column.dtype == np.int64 for column in columns)
            and predictions.ndim == 2
            and predictions.dtype == np.float32
            and ((labels.ndim == 2 and labels.dtype == np.float32) or (labels.ndim == 1 and labels.dtype == np.int64))
            and len({len(array) for array in (*columns, predictions, labels)}) == 1
            and (labels.ndim == 1 or labels.shape == predictions.shape)
            and (labels.ndim == 2 or not len(labels) or labels.max() < predictions.shape[1])
        )
        if not fits:
            shapes = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in content.items())
            raise InputError(f"{path} holds {shapes}, which are not predictions and labels of the same rows")
        return cls(index, node, predictions, labels)
