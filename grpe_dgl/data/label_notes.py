"""What a user should know of a new dataset's molecules and labels before a model is trained on them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.batching.labels import decode_labels
from grpe_dgl.data.identity import graph_hashes
from grpe_dgl.data.store.store import Store
from grpe_dgl.messages import counted, significant

_SHOWN = 5  # targets that get a line each
Array = npt.NDArray[Any]


def label_notes(store: Store) -> list[str]:
    """Return sentences about the labels of a dataset with a task per graph.

    Balance of the classes, what a constant prediction scores on the split test, targets whose labels are all equal, and
    molecules that occur more than once with different labels.
    """
    task = store.schema.task
    label: npt.NDArray[Any] = decode_labels(store.label, store.schema)
    if task.kind == "multiclass":
        label = np.where(label < 0, np.nan, label.astype(np.float32)).reshape(-1, 1)
    parts = {
        name: label[store.splits[name].astype(np.int64)] if name in store.splits else label[:0]
        for name in ("train", "test")
    }
    notes = []
    for t, target in enumerate(task.targets[:_SHOWN]):
        known = label[:, t][~np.isnan(label[:, t])]
        train, test = (part[:, t][~np.isnan(part[:, t])] for part in (parts["train"], parts["test"]))
        if len(known) and known.min() == known.max():
            name = _class_name(store, t, known[0])
            notes.append(f"{target}: every label is {name}; there is nothing to learn")
        elif task.kind == "regression":
            notes += _constant_number(target, train, test)
        else:
            notes += _balance(store, t, known, train, test)
    if len(task.targets) > _SHOWN:
        notes.append(f"and {counted(len(task.targets) - _SHOWN, 'more target')}")
    return notes + _contradictions(store, label)


def _constant_number(target: str, train: Array, test: Array) -> list[str]:
    if not len(train) or not len(test):
        return []
    mean = float(train.astype(np.float64).mean())
    errors = test.astype(np.float64) - mean
    rmse, mae = float(np.sqrt((errors**2).mean())), float(np.abs(errors).mean())
    return [
        f"{target}: a model that always predicts the training mean, {significant(mean)}, has rmse {significant(rmse)} "
        f"and mae {significant(mae)} on test"
    ]


def _balance(store: Store, t: int, known: Array, train: Array, test: Array) -> list[str]:
    task = store.schema.task
    target = task.targets[t]
    values, counts = np.unique(known, return_counts=True)
    shown = [f"{_class_name(store, t, value)} {count:,}" for value, count in zip(values, counts, strict=True)]
    notes = [f"{target}: {', '.join(shown[:10])}{', ...' if len(shown) > 10 else ''}"]
    if len(train) and len(test):
        found, number = np.unique(train, return_counts=True)
        most = found[number.argmax()]
        score = f"accuracy {100 * float((test == most).mean()):.1f} %"
        if task.kind == "binary":
            score += f", ROC-AUC 50 % and AP {100 * float((test == 1).mean()):.1f} %"
        notes.append(
            f"{target}: a model that always predicts {_class_name(store, t, most)}, the most frequent class in train, "
            f"has {score} on test"
        )
    return notes


def _class_name(store: Store, t: int, value: float) -> str:
    task = store.schema.task
    if task.kind == "multiclass":
        return task.classes[int(value)]
    if task.kind == "binary":
        names = (task.negative, task.positive)[int(value)]
        return names[t] if names else str(int(value))
    return significant(float(value))


def _contradictions(store: Store, label: Array) -> list[str]:
    """Return a note on molecules with the same graph and different labels."""
    hashes = graph_hashes(store, np.arange(len(store)))
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(hashes[order]) != 0])
    ordered = label[order].astype(np.float64)
    with np.errstate(invalid="ignore"):
        low = np.fmin.reduceat(ordered, starts, axis=0)
        high = np.fmax.reduceat(ordered, starts, axis=0)
    width = high - low  # NaN where no label is known
    different = np.nan_to_num(width).max(axis=1) > 1e-6 * np.nan_to_num(np.abs(high)).max(axis=1)
    count = int(different.sum())
    if not count:
        return []
    largest = f" (up to {significant(float(np.nanmax(width)))} apart)" if store.schema.task.kind == "regression" else ""
    verb = "occurs" if count == 1 else "occur"
    return [
        f"{counted(count, 'molecule')} {verb} more than once with different labels{largest}: no model can predict all "
        "of them"
    ]
