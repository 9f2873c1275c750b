"""What a report shows of one run: predictions, the dataset behind them, and what is missing."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.schema import Task
from grpe_dgl.training.predictions import Predictions
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.workflows.compare.runs import Run

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Evidence:
    """The predictions of a run's best model for one split, and the dataset, as far as they are there."""

    run: Run
    split: str | None
    """The split of the predictions: test, or valid if the test split has no labels; None without predictions."""
    predictions: Predictions | None
    task: Task | None
    store: Store | None
    missing: tuple[str, ...]
    """Sentences about what could not be read."""

    @property
    def sizes(self) -> Array | None:
        """How many nodes the graph of each row has, (n,); None without the dataset."""
        if self.store is None or self.predictions is None:
            return None
        offsets = self.store.node_offsets
        index = self.predictions.index
        return offsets[index + 1].astype(np.int64) - offsets[index].astype(np.int64)

    @property
    def target_names(self) -> list[str]:
        """The name of each column of the labels; numbers if the task is not recorded."""
        if self.task is not None:
            return list(self.task.targets)
        assert self.predictions is not None
        labels = self.predictions.labels
        return [f"target {number}" for number in range(labels.shape[1] if labels.ndim == 2 else 1)]

    def class_names(self, target: str) -> tuple[str, str]:
        """Return what the labels 0 and 1 of a yes/no target are called."""
        task = self.task
        if task is None or not task.positive or target not in task.targets:
            return "0", "1"
        place = task.targets.index(target)
        return task.negative[place], task.positive[place]

    def threshold(self, target: str) -> float:
        """Return the probability from which the run's model predicts yes, chosen on valid; 0.5 if none is recorded."""
        recorded = self.run.results.get("thresholds")
        value = recorded.get(target) if isinstance(recorded, dict) else None
        return float(value) if isinstance(value, int | float) else 0.5

    @property
    def kind(self) -> str | None:
        """The kind of the task; None if it is not known."""
        return None if self.task is None else self.task.kind


def gather(run: Run, dataset: Path | None = None) -> Evidence:
    """Read what there is of a run; nothing that is missing or damaged is an error.

    Parameters
    ----------
    run
        A finished run.
    dataset
        The folder of its dataset; None: the one it was trained on, if it is still there.
    """
    missing: list[str] = []
    split, predictions = None, None
    for name in ("test", "valid"):
        path = RunFolder(run.folder).predictions(name)
        if path.exists():
            try:
                split, predictions = name, Predictions.read(path)
                break
            except InputError as error:
                missing.append(str(error))
    if predictions is None:
        missing.append("there are no predictions beside results.json, so nothing of them is drawn")
    store = _open(run, dataset, missing)
    return Evidence(run, split, predictions, _task(run, store), store, tuple(missing))


def _open(run: Run, dataset: Path | None, missing: list[str]) -> Store | None:
    """Return the dataset if it is there and its graphs and labels are those of the training.

    Its splits may be others, as in the folds of a cross-validation: predictions name their graphs by number.
    """
    recorded = run.results.get("data") or {}
    folder = dataset or (Path(str(recorded["folder"])) if recorded.get("folder") else None)
    if folder is None:
        missing.append("the run does not record its dataset, so sizes and molecules are not shown")
        return None
    try:
        store = Store(folder)
        arrays = {str(key): str(value) for key, value in (recorded.get("arrays") or {}).items()}
        known = {key: value for key, value in arrays.items() if not key.startswith("split-")}
        found = {name: store.manifest.arrays[name].sha256 for name in known if name in store.manifest.arrays}
        if differences := DataIdentity(known, None).differences(DataIdentity(found, None)):
            missing.append(f"{folder} is not the data of the run: {' and '.join(differences)} differ")
            return None
        return store
    except (InputError, OSError) as error:
        missing.append(f"the dataset cannot be read, so sizes and molecules are not shown ({error})")
        return None


def _task(run: Run, store: Store | None) -> Task | None:
    if store is not None:
        return store.schema.task
    recorded = (run.results.get("data") or {}).get("task")
    try:
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in dict(recorded or {}).items()
        }
        return Task(**fields)
    except (TypeError, ValueError):
        return None


def probabilities(logits: Array, kind: str) -> Array:
    """Return the probabilities of logits: the sigmoid for yes/no targets, the softmax over classes otherwise."""
    values = logits.astype(np.float64)
    if kind == "binary":
        return np.where(values >= 0, 1 / (1 + np.exp(-np.abs(values))), 1 - 1 / (1 + np.exp(-np.abs(values))))
    shifted = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def errors_per_graph(evidence: Evidence) -> tuple[Array, Array, str]:
    """Return graph numbers, the error of each, and what the error is; graphs without a label are left out.

    Regression: the absolute error, its mean over the targets that have a label. Classification: minus the log of the
    probability of the label, its mean over targets or nodes.
    """
    assert evidence.predictions is not None and evidence.kind is not None
    rows = evidence.predictions
    predicted, labels = rows.predictions.astype(np.float64), rows.labels
    if evidence.kind == "regression":
        each, what = np.abs(predicted - labels), "absolute error"
    elif evidence.kind == "binary":
        chance = probabilities(predicted, "binary")
        each = -np.log(np.clip(np.where(labels == 1, chance, 1 - chance), 1e-12, 1))
        each, what = np.where(np.isnan(labels), math.nan, each), "log loss"
    else:
        chance = probabilities(predicted, "multiclass")
        own = chance[np.arange(len(labels)), np.maximum(labels, 0)]
        each, what = np.where(labels >= 0, -np.log(np.clip(own, 1e-12, 1)), math.nan)[:, None], "log loss"
    known = ~np.isnan(each)
    graphs, place = np.unique(rows.index, return_inverse=True)
    sums = np.bincount(place, np.where(known, each, 0).sum(axis=1), minlength=len(graphs))
    counts = np.bincount(place, known.sum(axis=1), minlength=len(graphs))
    labelled = counts > 0
    return graphs[labelled], sums[labelled] / counts[labelled], what
