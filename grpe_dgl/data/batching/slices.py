"""Which part of every array belongs to the graphs of a batch, and their nodes' features."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError

Integers = npt.NDArray[np.int64]
WRONG_EDGE = "graph {} has an edge to a node that does not exist, or of a type that does not exist"


class Slices(NamedTuple):
    """Where the nodes, edges and pairs of B graphs begin in the dataset's arrays, and how many they are; (B,) each."""

    graphs: Integers
    """The graphs' numbers."""
    node_start: Integers
    num_nodes: Integers
    edge_start: Integers
    num_edges: Integers
    pair_start: Integers

    @classmethod
    def of(cls, arrays: GraphArrays, index: Integers) -> Self:
        """Return the slices of the graphs numbered `index`, (B,), or raise if there is no such graph."""
        if index.ndim != 1 or len(index) == 0:
            raise InputError(f"a batch of shape {index.shape} was asked for; accepted: (graphs,), at least one")
        if index.min() < 0 or index.max() >= len(arrays):
            wrong = index[(index < 0) | (index >= len(arrays))][0]
            raise InputError(f"graph {wrong} was asked for; accepted: 0..{len(arrays) - 1}")
        node_start, num_nodes = _slices(arrays, "node_offsets", index, len(arrays.node_feat))
        edge_start, num_edges = _slices(arrays, "edge_offsets", index, len(arrays.src))
        pair_start, num_pairs = _slices(arrays, "pair_offsets", index, len(arrays.distance))
        if num_nodes.min() < 1 or (num_pairs != num_nodes * num_nodes).any():
            raise corrupt(arrays, "its offsets do not fit together")
        return cls(index, node_start, num_nodes, edge_start, num_edges, pair_start)


def corrupt(arrays: GraphArrays, reason: str) -> InputError:
    """Return the error of a dataset whose arrays cannot be read."""
    return InputError(f"{arrays.path} is corrupt: {reason}", hint="verify_dataset", value=str(arrays.path))


def node_rows(slices: Slices) -> Integers:
    """Return the rows of the dataset's node arrays that belong to the batch, graph after graph, (real nodes,)."""
    return concatenated(slices.node_start, slices.num_nodes)


def concatenated(start: Integers, count: Integers) -> Integers:
    """Return start[0], start[0] + 1, ... count[0] of them, then those of start[1], and so on, (count.sum(),)."""
    first = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(start - first, count)


def node_features(
    arrays: GraphArrays, slices: Slices, *, virtual_node: bool
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """Return the features (N, F), with zeros for virtual nodes, and which nodes are virtual, (N,).

    The virtual node, if there is one, is node 0 of each graph.
    """
    dtype = np.int64 if arrays.schema.node_vocabulary is not None else np.float32
    return copy_node_rows(arrays.node_feat, slices, dtype, virtual_node=virtual_node)


def copy_node_rows(
    stored: npt.NDArray[np.generic], slices: Slices, dtype: npt.DTypeLike, *, virtual_node: bool
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """Return a batch's rows of an array with a row per node, (N, columns), and which nodes are virtual, (N,)."""
    rows = node_rows(slices)
    if len(rows) and rows.max() >= len(stored):
        raise InputError("an array with a row per node has fewer rows than the dataset has nodes")
    virtual = np.zeros(len(rows) + (len(slices.graphs) if virtual_node else 0), np.bool_)
    if virtual_node:
        virtual[np.cumsum(slices.num_nodes + 1) - slices.num_nodes - 1] = True
    out = np.zeros((len(virtual), stored.shape[1]), dtype)
    out[~virtual] = stored[rows]
    return out, virtual


def _slices(arrays: GraphArrays, name: str, index: Integers, length: int) -> tuple[Integers, Integers]:
    """Return where graphs begin in arrays of `length` rows and how many rows they have, or raise if outside of them."""
    offsets = getattr(arrays, name)
    start, end = offsets[index].astype(np.int64), offsets[index + 1].astype(np.int64)
    count = end - start
    if start.min() < 0 or count.min() < 0 or end.max() > length:
        raise corrupt(arrays, f"its {name} lead outside of the arrays")
    return start, count
