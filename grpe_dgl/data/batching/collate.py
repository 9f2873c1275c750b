"""Batches straight from a dataset's arrays: slices and arithmetic, no DGLGraph per graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.data.batching.dgl_devices import require_dgl_device
from grpe_dgl.data.batching.encodings import add_encodings
from grpe_dgl.data.batching.graphs import collate_graphs
from grpe_dgl.data.batching.labels import decode_labels
from grpe_dgl.data.batching.pairs import collate_pairs
from grpe_dgl.data.batching.slices import Slices, node_rows
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.views import PairView, View

if TYPE_CHECKING:
    import dgl


class Batch(NamedTuple):
    """Some graphs of a dataset as the one graph that a model reads; B graphs with N nodes, virtual nodes included."""

    graph: dgl.DGLGraph
    """The batched pair graph, with M pairs: ``ndata["feat"]`` (N, F) int64 or float32, ``ndata["virtual"]`` (N,) bool,
    ``edata["relation"]`` (M,) int32. Or, for models that read the graph itself, the batched graph with M edges:
    ``ndata["feat"]`` as above and ``edata["feat"]`` (M,) int64. Positional encodings of the view are in ``ndata``."""
    label: Tensor
    """(B, T) float32 with NaN for missing, or (B,) int64 with -1 for missing (multiclass); for node tasks the same with
    a row per real node."""
    indices: Tensor
    """(B,) int64: the graphs' numbers in the dataset."""

    @property
    def pairs(self) -> dgl.DGLGraph:
        """The pair graph: `graph` under the name it had in version 0.1."""
        return self.graph

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on another device; raises where this build of DGL cannot hold a graph there."""
        if torch.device(device).type == "cpu":
            return self
        require_dgl_device(torch.device(device))
        return type(self)(self.graph.to(device), self.label.to(device), self.indices.to(device))


def collate(arrays: GraphArrays, index: npt.NDArray[np.int64], view: View) -> Batch:
    """Return the batch of the graphs numbered `index` in the form that `view` describes.

    A pair graph is equal, edge by edge, to `AddVirtualNode` and `ToPairGraph` applied to each graph and `dgl.batch` of
    the results; a graph view to `dgl.batch` of the graphs as their source gave them.

    Parameters
    ----------
    arrays
        The dataset's arrays.
    index
        (B,): graph numbers, at least one.
    view
        Which graph the model reads.
    """
    slices = Slices.of(arrays, index)
    graph = collate_pairs(arrays, slices, view) if isinstance(view, PairView) else collate_graphs(arrays, slices, view)
    if view.encodings:
        add_encodings(graph, arrays, slices, view.encodings, virtual_node=view.virtual_node)
    label = arrays.label[index] if arrays.schema.task.level == "graph" else arrays.label[node_rows(slices)]
    return Batch(graph, torch.from_numpy(decode_labels(label, arrays.schema)), torch.from_numpy(index))
