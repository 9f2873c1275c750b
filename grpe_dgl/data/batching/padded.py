"""The padded batch of some graphs of a dataset: tensors straight from its arrays, without a DGLGraph."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.batching.labels import real_nodes
from grpe_dgl.data.batching.slices import Integers, Slices, copy_node_rows
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled, worth_loading
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.relations import Relations
from grpe_dgl.transforms.pair_codes import fill_relations
from grpe_dgl.views import DESCRIPTORS, Encoding, GraphView, View, padded_view

FEW_PAIRS = 1 << 17
"""Padded pairs up to which numpy fills a batch faster than numba is loaded."""
_NO_LIMIT = np.empty(0, np.int64)


def relation_dtype(num_relations: int) -> np.dtype[np.integer]:
    """Return the smallest integer type that torch has and that holds the relations 0..R-1."""
    return np.dtype(np.uint8 if num_relations <= 256 else np.int16 if num_relations <= 2**15 else np.int32)


def collate_padded(arrays: GraphArrays, slices: Slices, view: View) -> PaddedBatch:
    """Return graphs padded to the largest of them; padding has feature 0 and relation 0.

    Node 0 of every graph is its virtual node, if the view has one. Features and relations outside the schema's
    vocabulary are refused here: on a GPU they would end the process. Of a graph view, edges count in the direction in
    which they are given, and graphs with self-loops or parallel edges, for which pairs have no place, are refused.
    """
    schema = arrays.schema
    relations = Relations(padded_view(view).max_distance, schema.num_edge_types)
    batch, most = len(slices.graphs), int(slices.num_nodes.max()) + int(view.virtual_node)
    integer = schema.node_vocabulary is not None
    nodes = np.zeros((batch, most, arrays.node_feat.shape[1]), np.int32 if integer else np.float32)
    relation = np.zeros((batch, most, most), relation_dtype(len(relations)))
    limits = np.array(schema.node_vocabulary, np.int64) if integer else _NO_LIMIT
    graph, reason = (_fill if worth_loading(relation.size, FEW_PAIRS) else _fill_few)(
        slices,
        arrays.node_feat,
        limits,
        int(view.virtual_node),
        arrays.distance,
        (arrays.src, arrays.dst, arrays.edge_type),
        schema.undirected and not isinstance(view, GraphView),
        relations.relation_of_distance(),
        (relations.own, relations.virtual, schema.num_edge_types),
        (nodes, relation),
    )
    if graph >= 0:
        raise InputError(
            f"{arrays.path} is corrupt: graph {slices.graphs[graph]} has {_REASONS[reason]}",
            hint="verify_dataset",
            value=str(arrays.path),
        )
    if isinstance(view, GraphView):
        _require_simple(relation, schema.num_edge_types, arrays, slices, virtual_node=view.virtual_node)
    mask = torch.from_numpy(np.arange(most) < (slices.num_nodes + int(view.virtual_node))[:, None])
    encodings = _encodings(arrays, slices, view)
    return PaddedBatch(torch.from_numpy(nodes), torch.from_numpy(relation), mask, **encodings)


def _require_simple(
    relation: npt.NDArray[np.integer], num_edge_types: int, arrays: GraphArrays, slices: Slices, *, virtual_node: bool
) -> None:
    """Raise unless every edge has a pair of its own: no self-loops, and no two edges between the same nodes."""
    real = real_nodes(slices.num_nodes, virtual_node=virtual_node)
    with_edge = (relation < num_edge_types) & real[:, :, None] & real[:, None, :]
    more = np.flatnonzero(with_edge.sum((1, 2)) != slices.num_edges)
    if len(more):
        raise InputError(
            f"{arrays.path}: graph {slices.graphs[more[0]]} has self-loops or parallel edges, for which a padded batch "
            "has no place; accepted: at most one edge from a node to another"
        )


def _encodings(arrays: GraphArrays, slices: Slices, view: View) -> dict[str, torch.Tensor]:
    """Return the fields of a `PaddedBatch` that hold the view's encodings, of which there is at most one per field."""
    found = {}
    for name in view.encodings:
        stored = arrays.encoding(name)
        is_descriptors = Encoding.parse(name).kind in DESCRIPTORS
        if stored.values is not None:
            values = np.ascontiguousarray(stored.values[slices.graphs], np.float32)
            found["descriptors" if is_descriptors else "encoding_values"] = torch.from_numpy(values)
        if not is_descriptors:
            rows, _ = copy_node_rows(stored.nodes, slices, np.float32, virtual_node=False)
            real = real_nodes(slices.num_nodes, virtual_node=view.virtual_node)
            padded = np.zeros((*real.shape, rows.shape[1]), np.float32)
            padded[real] = rows
            found["encoding"] = torch.from_numpy(padded)
    return found


_FEATURE, _EDGE_TYPE, _EDGE = 0, 1, 2
_REASONS = (
    "a node feature outside its column's values",
    "an edge type outside the schema's",
    "an edge to a node that does not exist",
)


def _fill_few(
    slices: Slices,
    node_feat: npt.NDArray[Any],
    limits: Integers,
    extra: int,
    distance: npt.NDArray[Any],
    edges: tuple[npt.NDArray[Any], ...],
    undirected: bool,
    relation_of_distance: npt.NDArray[Any],
    codes: tuple[int, int, int],
    out: tuple[npt.NDArray[Any], npt.NDArray[Any]],
) -> tuple[int, int]:
    """Do what `_fill` does without numba; the rule of the relations is that of `fill_relations`."""
    own, virtual, num_edge_types = codes
    nodes, relation = out
    for graph, (_, node, n, edge, num_edges, pair) in enumerate(zip(*slices, strict=True)):
        feat = node_feat[node : node + n]
        if len(limits) and ((feat < 0) | (feat >= limits)).any():
            return graph, _FEATURE
        nodes[graph, extra : extra + n] = feat
        # Backwards, so that of duplicate edges the first is written last.
        src, dst, edge_type = (ends[edge : edge + num_edges][::-1].astype(np.int64) for ends in edges)
        if ((edge_type < 0) | (edge_type >= num_edge_types)).any():
            return graph, _EDGE_TYPE
        if (np.minimum(src, dst) < 0).any() or (np.maximum(src, dst) >= n).any():
            return graph, _EDGE
        relation[graph, : n + extra, : n + extra] = virtual
        real = relation[graph, extra : extra + n, extra : extra + n]
        real[:] = relation_of_distance[distance[pair : pair + n * n]].reshape(n, n)
        if undirected:
            real[src, dst] = edge_type
        real[dst, src] = edge_type
        np.fill_diagonal(relation[graph, : n + extra, : n + extra], own)
    return -1, 0


@compiled()
def _fill(  # type: ignore[no-untyped-def]
    slices, node_feat, limits, extra, distance, edges, undirected, relation_of_distance, codes, out
):
    """Write features and relations of every graph; return the first graph that is corrupt and why, or -1."""
    _, node_start, num_nodes, edge_start, num_edges, pair_start = slices
    src, dst, edge_type = edges
    own, virtual, num_edge_types = codes
    nodes, relation = out
    for graph in range(len(num_nodes)):
        n = num_nodes[graph]
        size = n + extra
        for i in range(n):
            for column in range(node_feat.shape[1]):
                value = node_feat[node_start[graph] + i, column]
                if len(limits) and (value < 0 or value >= limits[column]):
                    return graph, _FEATURE
                nodes[graph, extra + i, column] = value
        part = slice(edge_start[graph], edge_start[graph] + num_edges[graph])
        for e in range(part.start, part.stop):
            if edge_type[e] < 0 or edge_type[e] >= num_edge_types:
                return graph, _EDGE_TYPE
        dense = np.empty(size * size, relation.dtype)
        pairs = slice(pair_start[graph], pair_start[graph] + n * n)
        if not fill_relations(
            n, extra, distance[pairs], src[part], dst[part], edge_type[part], undirected, relation_of_distance, own,
            virtual, dense,
        ):  # fmt: skip
            return graph, _EDGE
        for i in range(size):
            for j in range(size):
                relation[graph, i, j] = dense[i * size + j]
    return -1, 0
