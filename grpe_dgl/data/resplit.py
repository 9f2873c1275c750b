"""The graphs of a dataset in other splits, without a copy of them on disk."""

import copy
import dataclasses
import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.store.manifest import ArrayEntry


def resplit(data: Dataset, splits: Mapping[str, npt.NDArray[np.int64]]) -> Dataset:
    """Return a dataset with other splits of the same graphs; the targets' mean and deviation are those of its train.

    Parameters
    ----------
    data
        The dataset.
    splits
        The graphs of each split, by number.
    """
    store = copy.copy(data.store)
    schema, manifest = store.schema, store.manifest
    if schema.target_mean is not None:
        label = np.asarray(store.label)[splits["train"]].astype(np.float64)
        known = ~np.isnan(label)
        count = np.maximum(known.sum(0), 1)
        mean = np.where(known, label, 0.0).sum(0) / count
        deviation = np.sqrt((np.where(known, label - mean, 0.0) ** 2).sum(0) / count)
        schema = schema.with_target_statistics(
            tuple(mean.tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist())
        )
    arrays = {name: entry for name, entry in manifest.arrays.items() if not name.startswith("split-")}
    for name, index in splits.items():
        content = np.ascontiguousarray(index, np.uint64).tobytes()
        arrays[f"split-{name}"] = ArrayEntry(
            dtype="uint64", shape=(len(index),), sha256=hashlib.sha256(content).hexdigest()
        )
    store.splits = {name: np.asarray(index, np.uint64) for name, index in splits.items()}
    store.manifest = dataclasses.replace(
        manifest, schema=schema, splits={name: len(index) for name, index in splits.items()}, arrays=arrays
    )
    return Dataset(store, view=data.view)
