"""Datasets: where they come from, how they are stored, how batches are made of them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpe_dgl.data.batching.collate import Batch
    from grpe_dgl.data.dataset import Batches, Dataset, Split, load
    from grpe_dgl.data.sources.raw_graphs import Graphs, Skipped
    from grpe_dgl.data.sources.source import Source
    from grpe_dgl.data.store.store import Store
    from grpe_dgl.data.store.write import write
    from grpe_dgl.schema import Task

__all__ = [
    "Batch", "Batches", "Dataset", "Graphs", "Skipped", "Source", "Split", "Store", "Task", "load", "write",
]  # fmt: skip

# Imported on first access: a worker process that makes graphs needs neither torch nor dgl.
_HOME = {
    "Batch": "grpe_dgl.data.batching.collate",
    "Batches": "grpe_dgl.data.dataset",
    "Dataset": "grpe_dgl.data.dataset",
    "Graphs": "grpe_dgl.data.sources.raw_graphs",
    "Skipped": "grpe_dgl.data.sources.raw_graphs",
    "Source": "grpe_dgl.data.sources.source",
    "Split": "grpe_dgl.data.dataset",
    "Store": "grpe_dgl.data.store.store",
    "Task": "grpe_dgl.schema",
    "load": "grpe_dgl.data.dataset",
    "write": "grpe_dgl.data.store.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
