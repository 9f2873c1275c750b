"""A processed dataset with the interface of PyTorch's and DGL's datasets: splits of graphs with labels."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.data.batching.collate import Batch, collate
from grpe_dgl.data.batching.labels import decode_labels
from grpe_dgl.data.batching.sampler import Sampler
from grpe_dgl.data.batching.slices import WRONG_EDGE, Slices, concatenated, corrupt, node_rows
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema, Task
from grpe_dgl.views import PairView, View

_GRAPHS_AT_A_TIME = 100_000


def load(path: str | Path, *, max_distance: int = 5, virtual_node: bool = True, view: View | None = None) -> "Dataset":
    """Open the dataset that `grpe preprocess` or `grpe_dgl.data.write` made.

    Parameters
    ----------
    path
        The dataset's folder.
    max_distance
        L: the largest distance with a code of its own, 1..252. Any choice works with any dataset.
    virtual_node
        Whether batches get a virtual node per graph.
    view
        Instead of the two: which graph batches hold, a `grpe_dgl.views.PairView` or `GraphView`.

    Examples
    --------
    >>> data = grpe_dgl.data.load("data/zinc")                                      # doctest: +SKIP
    >>> graph, label = data.train[0]                                                # doctest: +SKIP
    >>> for pairs, label, indices in data.train.batches(batch_size=256, shuffle=True):    # doctest: +SKIP
    ...     loss = (model(pairs) - label).abs().mean()
    """
    return Dataset(Store(path), max_distance=max_distance, virtual_node=virtual_node, view=view)


class Dataset:
    """A store with the view of a model: which graph its batches hold.

    Its splits are ``data["train"]`` and so on; `train`, `valid` and `test` are short for the usual three.

    Attributes
    ----------
    store : Store
    view : PairView or GraphView
    splits : dict of str to Split
    """

    def __init__(
        self, store: Store, *, max_distance: int = 5, virtual_node: bool = True, view: View | None = None
    ) -> None:
        self.store = store
        self.view = view or PairView(max_distance=max_distance, virtual_node=virtual_node)
        if isinstance(self.view, PairView):
            Relations(self.view.max_distance, store.schema.num_edge_types)  # refuses a max_distance that does not fit
        self.splits = {name: Split(self, name) for name in store.splits}

    @property
    def schema(self) -> Schema:
        """The form of the graphs, the task and the targets' unit."""
        return self.store.schema

    @property
    def relations(self) -> Relations:
        """The codes of ``edata["relation"]``; for a pair view only."""
        if not isinstance(self.view, PairView):
            raise InputError("batches of a graph view have no relations; open the dataset with a PairView")
        return Relations(self.view.max_distance, self.schema.num_edge_types)

    @property
    def virtual_node(self) -> bool:
        """Whether batches have a virtual node per graph."""
        return self.view.virtual_node

    @property
    def manifest(self) -> Manifest:
        """The dataset's description: sizes, origin, arrays."""
        return self.store.manifest

    @property
    def task(self) -> Task:
        """What is to be predicted."""
        return self.schema.task

    @property
    def train(self) -> "Split":
        """The split called train."""
        return self["train"]

    @property
    def valid(self) -> "Split":
        """The split called valid."""
        return self["valid"]

    @property
    def test(self) -> "Split":
        """The split called test."""
        return self["test"]

    def __getitem__(self, split: str) -> "Split":
        if split not in self.splits:
            raise InputError(f"{self.store.path} has no split {split!r}; it has {', '.join(self.splits) or 'none'}")
        return self.splits[split]

    def __len__(self) -> int:
        return len(self.store)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {len(split):,}" for name, split in self.splits.items())
        return f"Dataset({self.schema.name!r}, {len(self):,} graphs: {splits or 'no splits'})"

    def batch(self, index: npt.ArrayLike, codes: tuple[str, ...] | None = None) -> Batch:
        """Return the graphs with the given numbers, shape (B,), as one batch; `codes` as in `Batches`."""
        return collate(self.store, np.asarray(index, np.int64), with_codes(self.view, codes))

    def num_nodes(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many nodes the graphs with the given numbers have in a batch: with virtual nodes, if any."""
        return self.num_real_nodes(index) + int(self.virtual_node)

    def num_real_nodes(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many nodes the graphs with the given numbers, (B,), have without virtual nodes, (B,)."""
        offsets = self.store.node_offsets
        return offsets[index + 1].astype(np.int64) - offsets[index].astype(np.int64)

    def mean_log_degree(self, split: str = "train") -> float:
        """Return the mean of log(in-degree + 1) over all nodes of a split: `mean_log_degree` of PNA's settings."""
        total, nodes = 0.0, 0
        index = self[split].index
        for first in range(0, len(index), _GRAPHS_AT_A_TIME):
            slices = Slices.of(self.store, index[first : first + _GRAPHS_AT_A_TIME])
            edges = concatenated(slices.edge_start, slices.num_edges)
            before = slices.num_nodes.cumsum() - slices.num_nodes
            target = self.store.dst[edges].astype(np.int64) + np.repeat(before, slices.num_edges)
            total += float(np.log1p(np.bincount(target, minlength=int(slices.num_nodes.sum()))).sum())
            nodes += int(slices.num_nodes.sum())
        return total / max(nodes, 1)

    def graph(self, number: int) -> dgl.DGLGraph:
        """Return one graph as its source gave it.

        ``ndata["feat"]`` is (n, F) int64 or float32, ``edata["feat"]`` (edges,) int64, and for node tasks
        ``ndata["label"]`` (n,) int64 or (n, T) float32.
        """
        store = self.store
        slices = Slices.of(store, np.array([number], np.int64))
        nodes = slice(int(slices.node_start[0]), int(slices.node_start[0] + slices.num_nodes[0]))
        edges = slice(int(slices.edge_start[0]), int(slices.edge_start[0] + slices.num_edges[0]))
        src, dst, edge_type = (
            store_array[edges].astype(np.int64) for store_array in (store.src, store.dst, store.edge_type)
        )
        if len(src) and max(src.max(), dst.max()) >= slices.num_nodes[0]:
            raise corrupt(store, WRONG_EDGE.format(number))
        graph = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=nodes.stop - nodes.start)
        dtype = np.int64 if self.schema.node_vocabulary is not None else np.float32
        graph.ndata["feat"] = torch.from_numpy(store.node_feat[nodes].astype(dtype))
        graph.edata["feat"] = torch.from_numpy(edge_type)
        if self.task.level == "node":
            graph.ndata["label"] = torch.from_numpy(decode_labels(store.label[nodes], self.schema))
        return graph


class Split(torch.utils.data.Dataset[tuple[dgl.DGLGraph, Tensor] | dgl.DGLGraph]):
    """Some graphs of a dataset, in an order of their own.

    ``split[i]`` is (graph, label), with label (T,) float32 or () int64; for node tasks it is the graph alone, with
    ``ndata["label"]``, as DGL's own datasets have it.

    Attributes
    ----------
    dataset : Dataset
    name : str
    index : numpy.ndarray
        (len,) int64: the graphs' numbers in the dataset.
    """

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.dataset = dataset
        self.name = name

    @property
    def index(self) -> npt.NDArray[np.int64]:
        """The graphs' numbers in the dataset, (len,)."""
        return self.dataset.store.splits[self.name].astype(np.int64)

    def __len__(self) -> int:
        return len(self.dataset.store.splits[self.name])

    def __repr__(self) -> str:
        return f"Split({self.name!r} of {self.dataset.schema.name!r}, {len(self):,} graphs)"

    def __getitem__(self, i: int) -> tuple[dgl.DGLGraph, Tensor] | dgl.DGLGraph:
        if not -len(self) <= i < len(self):
            raise IndexError(f"{i} of a split of {len(self)} graphs")
        store = self.dataset.store
        number = int(store.splits[self.name][i])
        graph = self.dataset.graph(number)
        if self.dataset.task.level == "node":
            return graph
        return graph, torch.from_numpy(decode_labels(store.label[number : number + 1], store.schema))[0]

    def labels(self) -> Tensor:
        """Return the labels of all graphs of the split, in order: as `Batch.label`, for the whole split at once."""
        store, index = self.dataset.store, self.index
        if self.dataset.task.level == "graph":
            return torch.from_numpy(decode_labels(store.label[index], store.schema))
        if not len(index):
            return torch.from_numpy(decode_labels(store.label[:0], store.schema))
        return torch.from_numpy(decode_labels(store.label[node_rows(Slices.of(store, index))], store.schema))

    def batches(self, **options: Any) -> "Batches":
        """Return the split's batches; the options are those of `Batches`."""
        return Batches(self, **options)


class Batches(Sampler):
    """The batches of a split; iterating again yields the next epoch.

    Parameters
    ----------
    split
        The split.
    codes
        Which of relation, spd and edge to put into ``edata`` of a pair graph; None takes those of the dataset's view.
    **options
        See `grpe_dgl.data.batching.sampler.Sampler`: batch_size or pair_budget, shuffle, seed, drop_last, rank and
        world_size.
    """

    def __init__(self, split: Split, *, codes: tuple[str, ...] | None = None, **options: Any) -> None:
        super().__init__(split.index, split.dataset.num_nodes, **options)
        self.split = split
        self.view = with_codes(split.dataset.view, codes)

    def __iter__(self) -> Iterator[Batch]:
        number = self._next_epoch
        self._next_epoch += 1
        return self.epoch(number)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield this rank's part of the global batches of epoch `number`, from global batch `start` on."""
        for index in self.indices(number, start):
            yield collate(self.split.dataset.store, index, self.view)


def with_codes(view: View, codes: tuple[str, ...] | None) -> View:
    """Return a pair view with other codes in ``edata``; None leaves it as it is."""
    return dataclasses.replace(view, codes=codes) if codes is not None and isinstance(view, PairView) else view
