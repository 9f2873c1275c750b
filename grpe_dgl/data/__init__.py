"""Datasets: where they come from, how they are stored, how batches are made of them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpe_dgl.data.batching.sampler import Batch, Batches
    from grpe_dgl.data.dataset import Dataset, Split, load
    from grpe_dgl.data.sources.raw_graphs import Graphs, Skipped
    from grpe_dgl.data.sources.source import Source, Task
    from grpe_dgl.data.store.store import Store
    from grpe_dgl.data.store.write import write

__all__ = [
    "Batch", "Batches", "Dataset", "Graphs", "Skipped", "Source", "Split", "Store", "Task", "load", "write",
]  # fmt: skip

# Loaded when first asked for: a worker process that makes graphs needs neither torch nor dgl.
_HOME = {
    "Batch": "batching.collate",
    "Batches": "batching.sampler",
    "Dataset": "dataset",
    "Graphs": "sources.raw_graphs",
    "Skipped": "sources.raw_graphs",
    "Source": "sources.source",
    "Split": "dataset",
    "Store": "store.store",
    "Task": "sources.source",
    "load": "dataset",
    "write": "store.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
