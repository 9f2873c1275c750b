"""Graphs that were just made, in the arrays a processed dataset has on disk: batches come from either."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.source import Task
from grpe_dgl.data.store.validation import Layout, PackedRun

Array = npt.NDArray[np.generic]


class Described(Protocol):
    """What assembling a batch must know of a dataset: a manifest or a layout."""

    @property
    def task(self) -> Task: ...  # noqa: D102

    @property
    def node_vocabulary(self) -> Sequence[int] | None: ...  # noqa: D102

    @property
    def undirected(self) -> bool: ...  # noqa: D102


class GraphArrays(Protocol):
    """The arrays of many graphs, graph after graph; see `grpe_dgl.data.store.store.Store` for each."""

    path: Path
    node_offsets: Array
    edge_offsets: Array
    pair_offsets: Array
    node_feat: Array
    src: Array
    dst: Array
    edge_type: Array
    distance: Any
    label: Array

    @property
    def manifest(self) -> Described: ...  # noqa: D102

    def __len__(self) -> int: ...


class ArraysInMemory:
    """A packed run of graphs as `GraphArrays`.

    Parameters
    ----------
    run
        What `grpe_dgl.data.store.validation.pack` made.
    layout
        What it was packed with.
    """

    path = Path("graphs in memory")

    def __init__(self, run: PackedRun, layout: Layout) -> None:
        graphs = run.graphs
        self.manifest = layout
        self.node_offsets = _offsets(graphs.num_nodes)
        self.edge_offsets = _offsets(graphs.num_edges)
        self.pair_offsets = _offsets(graphs.num_nodes**2)
        self.node_feat = _locked(graphs.node_feat)
        self.src = _locked(graphs.src)
        self.dst = _locked(graphs.dst)
        self.edge_type = _locked(graphs.edge_type)
        self.distance = _locked(run.distance)
        self.label = _locked(graphs.label)

    def __len__(self) -> int:
        return len(self.node_offsets) - 1


def _offsets(counts: npt.NDArray[np.int64]) -> Array:
    return np.concatenate([[0], counts.cumsum()])


def _locked(array: npt.NDArray[Any]) -> Array:
    """Return the array read-only, as those of a store are: numba compiles its kernels for one kind, not for two."""
    array = array.view()
    array.setflags(write=False)
    return array
