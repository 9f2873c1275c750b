"""Datasets: where they come from, how they are stored, how batches are made of them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpe_dgl.data.batches import Batch, Batches
    from grpe_dgl.data.dataset import Dataset, Split, load
    from grpe_dgl.data.graphs import Graphs, Skipped
    from grpe_dgl.data.own_graphs import write
    from grpe_dgl.data.source import Source, Task
    from grpe_dgl.data.store import Store

__all__ = [
    "Batch", "Batches", "Dataset", "Graphs", "Skipped", "Source", "Split", "Store", "Task", "load", "write",
]  # fmt: skip

# Loaded when first asked for: a worker process that makes graphs needs neither torch nor dgl.
_HOME = {
    "Batch": "batches",
    "Batches": "batches",
    "Dataset": "dataset",
    "Graphs": "graphs",
    "Skipped": "graphs",
    "Source": "source",
    "Split": "dataset",
    "Store": "store",
    "Task": "source",
    "load": "dataset",
    "write": "own_graphs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
