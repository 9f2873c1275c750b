"""Validate a run of raw graphs, convert it to the stored types and compute its distances."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.store.manifest import smallest_unsigned
from grpe_dgl.errors import InputError
from grpe_dgl.offsets import offsets_of
from grpe_dgl.schema import Schema
from grpe_dgl.transforms.shortest_paths import all_pairs_distances


def node_dtype(schema: Schema) -> npt.DTypeLike:
    """Return the type that node features are stored in."""
    return np.float32 if schema.node_vocabulary is None else smallest_unsigned(max(schema.node_vocabulary) - 1)


def label_dtype(schema: Schema) -> npt.DTypeLike:
    """Return the type that labels are stored in."""
    if schema.task.kind == "multiclass":
        return np.min_scalar_type(-max(len(schema.task.classes), 1))
    return np.int8 if schema.task.kind == "binary" else np.float32


@dataclass(frozen=True)
class PackedRun:
    """A run in the types it is stored in."""

    graphs: Graphs
    distance: npt.NDArray[np.uint8]
    """(pairs,): see `grpe_dgl.transforms.shortest_paths.all_pairs_distances`."""


def pack(run: Graphs, schema: Schema, *, first_graph: int = 0) -> PackedRun:
    """Validate a run, compute its distances and convert everything to the smallest types.

    Parameters
    ----------
    run
        The run; its arrays are not changed.
    schema
        The form that its graphs must have.
    first_graph
        The number of its first graph, for error messages.
    """
    nodes, edges = np.asarray(run.num_nodes, np.int64), np.asarray(run.num_edges, np.int64)
    src, dst = np.asarray(run.src, np.int64), np.asarray(run.dst, np.int64)
    sizes = (len(nodes), int(nodes.sum()), int(edges.sum()))
    found = (len(edges), len(run.node_feat), len(src), len(dst), len(run.edge_type))
    if found != (sizes[0], sizes[1], sizes[2], sizes[2], sizes[2]):
        raise InputError(
            f"a run of {sizes[0]} graphs with {sizes[1]} nodes and {sizes[2]} edges has {found[0]} edge counts, "
            f"{found[1]} rows of node_feat and {found[2]}, {found[3]}, {found[4]} of src, dst, edge_type"
        )
    if len(nodes) and nodes.min() < 1:
        raise InputError(f"graph {first_graph + int(nodes.argmin())} has no nodes; accepted: at least one")
    graph_of_edge = np.repeat(np.arange(len(nodes)), edges)

    wrong = np.flatnonzero((np.minimum(src, dst) < 0) | (np.maximum(src, dst) >= nodes[graph_of_edge]))
    if len(wrong):
        e, graph = wrong[0], graph_of_edge[wrong[0]]
        raise InputError(
            f"graph {first_graph + graph} has an edge {src[e]} -> {dst[e]}; accepted: 0..{nodes[graph] - 1}"
        )
    edge_type = np.asarray(run.edge_type)
    wrong = np.flatnonzero((edge_type < 0) | (edge_type >= schema.num_edge_types))
    if len(wrong):
        raise InputError(
            f"graph {first_graph + graph_of_edge[wrong[0]]} has an edge of type {edge_type[wrong[0]]}; "
            f"accepted: 0..{schema.num_edge_types - 1}"
        )

    node_offsets = offsets_of(nodes)
    edge_offsets = offsets_of(edges)
    distance = all_pairs_distances(node_offsets, edge_offsets, src, dst, undirected=schema.undirected, parallel=False)
    end_dtype = smallest_unsigned(nodes.max(initial=1) - 1)
    packed = replace(
        run,
        num_nodes=nodes,
        num_edges=edges,
        node_feat=_pack_features(np.asarray(run.node_feat), schema, node_offsets, first_graph),
        src=src.astype(end_dtype),
        dst=dst.astype(end_dtype),
        edge_type=edge_type.astype(smallest_unsigned(schema.num_edge_types - 1)),
        label=_pack_labels(np.asarray(run.label), schema, sizes),
    )
    return PackedRun(packed, distance)


def _pack_features(
    feat: npt.NDArray[Any], schema: Schema, node_offsets: npt.NDArray[np.int64], first_graph: int
) -> npt.NDArray[Any]:
    columns = schema.num_node_columns
    if feat.ndim != 2 or feat.shape[1] != columns:
        raise InputError(f"node_feat has shape {feat.shape}; accepted: (nodes, {columns})")
    if schema.node_vocabulary is not None:
        if feat.dtype.kind not in "iu":
            raise InputError(f"node_feat has dtype {feat.dtype}; accepted: integers, as node_vocabulary is given")
        wrong = np.argwhere((feat < 0) | (feat >= np.array(schema.node_vocabulary)))
        if len(wrong):
            node, column = wrong[0]
            graph = first_graph + int(np.searchsorted(node_offsets, node, side="right")) - 1
            raise InputError(
                f"graph {graph} has a node with {feat[node, column]} in column {column}; "
                f"accepted: 0..{schema.node_vocabulary[column] - 1}"
            )
    return np.ascontiguousarray(feat, node_dtype(schema))


def _pack_labels(label: npt.NDArray[Any], schema: Schema, sizes: tuple[int, int, int]) -> npt.NDArray[Any]:
    task = schema.task
    rows = sizes[0] if task.level == "graph" else sizes[1]
    shape = (rows,) if task.kind == "multiclass" else (rows, len(task.targets))
    if label.shape != shape:
        raise InputError(f"label has shape {label.shape}; accepted: {shape} for a {task.kind} task per {task.level}")
    if task.kind == "multiclass":
        accepted = (label >= -1) & (label < len(task.classes))
        said = f"-1 (missing) to {len(task.classes) - 1}"
    elif task.kind == "binary":
        accepted = (label == 0) | (label == 1) | np.isnan(label)
        label = np.where(np.isnan(label), -1, label)
        said = "0, 1 or NaN (missing)"
    else:
        accepted = ~np.isinf(label)
        said = "numbers, or NaN (missing)"
    if not accepted.all():
        raise InputError(f"a label is {label[~accepted].flat[0]}; accepted: {said}")
    return np.ascontiguousarray(label, label_dtype(schema))
