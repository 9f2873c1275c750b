"""The attention of a model to the nodes of single graphs, as square maps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError
from grpe_dgl.families import FAMILIES, model_class
from grpe_dgl.models.model import GraphModel
from grpe_dgl.views import View

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AttentionMaps:
    """The attention of every layer to the nodes of one graph; n nodes, of which the first `virtual` are virtual."""

    layers: tuple[Array, ...]
    """Of each layer (H, n, n) float32: at (h, i, j) the weight with which head h of query i attends to key j. A row
    sums to one if the node has a key. Families that attend along edges have zeros elsewhere."""
    adjacency: Array
    """(n, n) bool: at (i, j) whether there is an edge from j to i; False for virtual nodes."""
    distance: Array
    """(n - virtual, n - virtual) uint8: at (i, j) the length of the shortest path from j to i, 254 if it is longer than
    253, 255 if there is none."""
    virtual: int
    """How many virtual nodes there are: GRPE and Graphormer have one, EGT as many as its settings have."""

    @property
    def mean(self) -> Array:
        """The mean over heads of every layer, (layers, n, n)."""
        return np.stack([weights.mean(0) for weights in self.layers])

    def to_nodes(self) -> Array:
        """Return how much attention each real node gets in every layer, mean over heads, (layers, n - virtual).

        From the virtual node (the mean of several); in models without, the mean over all nodes as queries.
        """
        maps = self.mean
        queries = maps[:, : self.virtual] if self.virtual else maps
        received: Array = queries[:, :, self.virtual :].mean(1)
        return received


def attention_maps(
    model: GraphModel, view: View, arrays: GraphArrays, index: npt.NDArray[np.int64]
) -> list[AttentionMaps]:
    """Return the attention maps of some graphs, computed as one batch.

    Parameters
    ----------
    model
        Of a family with attention, on the CPU.
    view
        The view of the model's settings.
    arrays
        A processed dataset (`grpe_dgl.data.store.store.Store`) or molecules in memory
        (`grpe_dgl.data.molecules.arrays.read_molecules`).
    index
        (B,): the graphs' numbers in `arrays`.
    """
    require_attention(model)
    batch = collate(arrays, index, view)
    with torch.no_grad():
        layers = [weights.numpy() for weights in model.attention(batch.graph)]
    virtual = int(view.virtual_node) + model.added_virtual_nodes
    sizes = batch.graph.batch_num_nodes().numpy() + model.added_virtual_nodes
    if model.reads == "pairs":
        squares = _squares_of_pairs(layers, sizes)
    else:
        squares = _squares_of_edges(layers, batch.graph, sizes)
    found = []
    for graph, maps in zip(index, squares, strict=True):
        adjacency, distance = _structure(arrays, int(graph), virtual)
        found.append(AttentionMaps(maps, adjacency, distance, virtual))
    return found


def require_attention(model: GraphModel) -> None:
    """Raise unless the model's family has attention weights."""
    if not model.has_attention:
        with_attention = [name for name in FAMILIES if model_class(name).has_attention]
        raise InputError(f"{type(model).__name__} is a family without attention; accepted: {', '.join(with_attention)}")


def _squares_of_pairs(layers: list[Array], sizes: Array) -> list[tuple[Array, ...]]:
    """Return (H, n, n) of every graph and layer from weights of pairs, (pairs, H)."""
    ends = np.cumsum(sizes**2)
    return [
        tuple(weights[end - n * n : end].reshape(n, n, -1).transpose(2, 0, 1).astype(np.float32) for weights in layers)
        for n, end in zip(sizes, ends, strict=True)
    ]


def _squares_of_edges(layers: list[Array], graph: Any, sizes: Array) -> list[tuple[Array, ...]]:
    """Return (H, n, n) of every graph and layer from weights of edges, (edges, H); duplicate edges are added up."""
    key, query = (end.numpy() for end in graph.edges(order="eid"))
    edge_ends = np.cumsum(graph.batch_num_edges().numpy())
    found, first_node, first_edge = [], 0, 0
    for n, end in zip(sizes, edge_ends, strict=True):
        edges = slice(first_edge, end)
        maps = []
        for weights in layers:
            square = np.zeros((n, n, weights.shape[1]), np.float32)
            np.add.at(square, (query[edges] - first_node, key[edges] - first_node), weights[edges])
            maps.append(square.transpose(2, 0, 1))
        found.append(tuple(maps))
        first_node, first_edge = first_node + n, end
    return found


def _structure(arrays: GraphArrays, graph: int, virtual: int) -> tuple[Array, Array]:
    """Return the adjacency with virtual nodes, and the distances of real nodes, of a graph."""
    n = int(arrays.node_offsets[graph + 1]) - int(arrays.node_offsets[graph])
    edges = slice(int(arrays.edge_offsets[graph]), int(arrays.edge_offsets[graph + 1]))
    pairs = slice(int(arrays.pair_offsets[graph]), int(arrays.pair_offsets[graph + 1]))
    adjacency = np.zeros((n + virtual, n + virtual), np.bool_)
    src, dst = (end[edges].astype(np.int64) + virtual for end in (arrays.src, arrays.dst))
    adjacency[dst, src] = True
    if arrays.schema.undirected:
        adjacency |= adjacency.T
    return adjacency, np.asarray(arrays.distance[pairs]).reshape(n, n)
