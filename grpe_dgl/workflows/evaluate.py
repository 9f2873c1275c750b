"""Measure a checkpoint's model on a split of a dataset."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data import load
from grpe_dgl.data.dataset import Split
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Task
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.evaluation import batch_of_rows, by_target, compute, is_labelled, predict_split
from grpe_dgl.training.thresholds import shift_to_thresholds


@dataclass(frozen=True)
class Evaluation:
    """Predictions for a split and, if it has labels, how good they are."""

    dataset: str
    """The dataset's name."""
    task: Task
    """The dataset's task; its targets and classes may have other names than the model's."""
    split: str
    graphs: int
    labels: int
    """How many labels the split has: what the metrics are computed on."""
    predictions: Tensor
    """See `grpe_dgl.training.evaluation.predict_split`."""
    metrics: dict[str, float]
    """By metric; empty without labels."""
    thresholds: tuple[float, ...] | None
    """The probabilities from which targets count as yes in metrics that depend on it; None: 0.5."""
    per_target: dict[str, dict[str, float | None]]
    """By target and metric, None where its labels do not define one; empty for one target."""


def evaluate(
    checkpoint: Checkpoint,
    dataset_folder: Path,
    split: str = "test",
    *,
    metrics: Sequence[str] = (),
    needs_labels: bool = True,
    allow_overlap: bool = False,
    batch_size: int | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Predict a split with a checkpoint's model and compare the predictions with the labels.

    Parameters
    ----------
    checkpoint
        The trained model.
    dataset_folder
        A processed dataset with the model's vocabulary and task.
    split
        The name of the split.
    metrics
        What to measure; the metric the model was trained for if empty.
    needs_labels
        Whether a split without labels is an error; if not, it is only predicted.
    allow_overlap
        Whether a split of other data than the model's own may contain graphs the model was trained on. Otherwise it is
        refused, except the split train. The split of the model's own data is never refused. A checkpoint that does not
        record its training graphs gets a warning.
    batch_size
        Graphs at a time, the training's if None; it changes no number. Metrics that are computed per batch use the
        training's always.
    device
        Where the model runs.
    progress
        Called after every batch with the number of graphs so far and of all.
    """
    own = checkpoint.schema
    names = tuple(metrics) or (checkpoint.recipe.training.metric or own.task.metric,)
    accepted = METRICS_OF_KIND[own.task.kind]
    for name in names:
        if name not in accepted:
            raise InputError(f"the metric is {name!r}; accepted for {own.task.kind}: {', '.join(accepted)}")
    data = load(dataset_folder, view=checkpoint.recipe.model.view)
    own.require_same_input(data.schema, what=str(dataset_folder))
    own.require_same_task(data.schema, what=str(dataset_folder))
    if (warning := own.different_molecules(data.schema, what=str(dataset_folder))) is not None:
        warnings.warn(warning, stacklevel=2)
    prepare_encodings(data.store, data.view.encodings)
    chosen = data[split]
    if not len(chosen):
        others = ", ".join(name for name in data.splits if len(data[name])) or "another dataset"
        raise InputError(
            f"the split {split} of {dataset_folder} has no graphs; accepted: {others} (what a fold of a "
            "cross-validation reaches on its own rows is in its results)"
        )
    labelled = is_labelled(chosen)
    if needs_labels and not labelled:
        raise InputError(
            f"the split {split} of {dataset_folder} has no labels; accepted: a split with labels", hint="submission"
        )
    if split != "train" and not allow_overlap:
        _require_no_training_graphs(checkpoint, chosen)
    done = 0

    def after_batch(graphs: int) -> None:
        nonlocal done
        done += graphs
        if progress is not None:
            progress(done, len(chosen))

    predictions = predict_split(
        checkpoint.model().to(device),
        chosen,
        own,
        batch_size=batch_size or checkpoint.recipe.training.batch_size,
        processes=Processes(device=torch.device(device)),
        precision=checkpoint.recipe.training.precision,
        after_batch=after_batch,
    )
    labels = chosen.labels()
    batches = batch_of_rows(chosen, checkpoint.recipe.training.batch_size)
    return Evaluation(
        dataset=data.schema.name,
        task=data.schema.task,
        split=split,
        graphs=len(chosen),
        labels=int((labels >= 0).sum() if labels.dtype == torch.int64 else (~labels.isnan()).sum()),
        predictions=predictions,
        metrics={
            name: compute(name, shift_to_thresholds(name, predictions, checkpoint.thresholds), labels, batches)
            for name in names
        }
        if labelled
        else {},
        thresholds=checkpoint.thresholds,
        per_target=by_target(predictions, labels, own.task, names, checkpoint.thresholds) if labelled else {},
    )


def _require_no_training_graphs(checkpoint: Checkpoint, split: Split) -> None:
    """Raise if a split of other data than the checkpoint's contains graphs that the model was trained on."""
    store = split.dataset.store
    trained = checkpoint.data_identity
    if trained is None:
        unknown = "the checkpoint does not record its training graphs (it was written before they were, or imported)"
    elif not trained.differences(DataIdentity.of(store)):
        return
    else:
        count = trained.count_training_graphs(store, split.index)
        if count:
            raise InputError(
                f"{store.path} is not the data the model was trained on, and {count:,} of the "
                f"{counted(len(split), 'graph')} of its split {split.name} are among the training graphs: the result "
                "would look better than it is",
                hint="allow_overlap",
            )
        if count is not None:
            return
        unknown = f"{store.path} is not the data the model was trained on, and its training graphs are too many to list"
    warnings.warn(f"{unknown}: the split {split.name} may contain some of them", stacklevel=3)
