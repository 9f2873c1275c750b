"""Batches straight from a store's arrays: slices and arithmetic, no DGLGraph per graph."""

from typing import NamedTuple, Self

import dgl
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.relations import Relations

CODES = ("relation", "spd", "edge")


class Batch(NamedTuple):
    """Some graphs of a dataset as one pair graph, with B graphs, N nodes and M pairs, virtual nodes included."""

    pairs: dgl.DGLGraph
    """Batched pair graph: ``ndata["feat"]`` (N, F) int64 or float32, ``ndata["virtual"]`` (N,) bool,
    ``edata["relation"]`` (M,) int32."""
    label: Tensor
    """(B, T) float32 with NaN for missing, or (B,) int64 with -1 for missing (multiclass); for node tasks the same with
    a row per real node."""
    indices: Tensor
    """(B,) int64: the graphs' numbers in the dataset."""

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on another device."""
        return type(self)(self.pairs.to(device), self.label.to(device), self.indices.to(device))


def collate(
    store: GraphArrays,
    index: npt.NDArray[np.int64],
    relations: Relations,
    *,
    virtual_node: bool = True,
    codes: tuple[str, ...] = ("relation",),
) -> Batch:
    """Return the batch of the graphs numbered `index`.

    Equal, edge by edge, to `AddVirtualNode` and `ToPairGraph` applied to each graph and `dgl.batch` of the results.

    Parameters
    ----------
    store
        The dataset.
    index
        (B,): graph numbers, at least one.
    relations
        The codes, with the dataset's ``num_edge_types``.
    virtual_node
        Whether every graph gets a virtual node, its node 0.
    codes
        Which of relation, spd and edge go into ``edata``.
    """
    if index.ndim != 1 or len(index) == 0:
        raise InputError(f"a batch of shape {index.shape} was asked for; accepted: (graphs,), at least one")
    if index.min() < 0 or index.max() >= len(store):
        raise InputError(f"graph {index[(index < 0) | (index >= len(store))][0]} was asked for; "
                         f"accepted: 0..{len(store) - 1}")  # fmt: skip
    extra = int(virtual_node)
    node_start, num_real = _slices(store.node_offsets, index)
    edge_start, num_edges = _slices(store.edge_offsets, index)
    pair_start, num_pairs = _slices(store.pair_offsets, index)
    if (num_real < 1).any() or (num_edges < 0).any() or (num_pairs != num_real * num_real).any():
        raise InputError(
            f"{store.path} is corrupt: its offsets do not fit together", hint="verify_dataset", value=str(store.path)
        )

    num_nodes = num_real + extra
    total_nodes, total_pairs = int(num_nodes.sum()), int((num_nodes * num_nodes).sum())
    id_dtype = np.int32 if total_pairs < 2**31 else np.int64
    indptr = np.empty(total_nodes + 1, id_dtype)
    keys = np.empty(total_pairs, id_dtype)
    relation = np.empty(total_pairs, np.int32)
    own = relations.num_edge_types
    broken = _fill_pairs(
        num_real,
        extra,
        pair_start,
        store.distance,
        edge_start,
        num_edges,
        store.src,
        store.dst,
        store.edge_type,
        store.manifest.undirected,
        relations.spd_of_distance() + np.int32(own),
        relations.virtual,
        own,
        indptr,
        keys,
        relation,
    )
    if broken >= 0:
        raise InputError(f"{store.path} is corrupt: graph {index[broken]} has an edge to a node that does not exist")

    ids = [torch.from_numpy(array) for array in (indptr, keys, np.empty(0, id_dtype))]
    pairs = dgl.graph(("csc", tuple(ids)), num_nodes=total_nodes)
    nodes_of_graph = torch.from_numpy(num_nodes)
    pairs.set_batch_num_nodes(nodes_of_graph.to(ids[0].dtype))
    pairs.set_batch_num_edges((nodes_of_graph * nodes_of_graph).to(ids[0].dtype))
    feat, virtual = _node_data(store, node_start, num_real, extra)
    pairs.ndata["feat"] = torch.from_numpy(feat)
    if virtual_node:
        pairs.ndata["virtual"] = torch.from_numpy(virtual)
    for code in codes:
        pairs.edata[code] = torch.from_numpy(_code(code, relation, relations))
    pairs.relations = relations  # for `grpe_dgl.nn.GRPE`, which reads these codes and no others
    return Batch(pairs, torch.from_numpy(_labels(store, index, node_start, num_real)), torch.from_numpy(index))


def labels_of(store: GraphArrays, raw: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Turn stored labels into float32 with NaN for missing, or for multiclass into int64 with -1."""
    kind = store.manifest.task.kind
    if kind == "multiclass":
        return raw.astype(np.int64)
    label = raw.astype(np.float32)
    if kind == "binary":
        label[label < 0] = np.nan
    return label


def _slices(
    offsets: npt.NDArray[np.generic], index: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    start = offsets[index].astype(np.int64)
    return start, offsets[index + 1].astype(np.int64) - start


def _code(code: str, relation: npt.NDArray[np.int32], relations: Relations) -> npt.NDArray[np.int32]:
    if code == "relation":
        return relation
    if code not in CODES:
        raise InputError(f"codes names {code!r}; accepted: {', '.join(CODES)}")
    table = relations.spd_of_relation() if code == "spd" else relations.edge_of_relation()
    return table.astype(np.int32)[relation]


def _node_data(
    store: GraphArrays, node_start: npt.NDArray[np.int64], num_real: npt.NDArray[np.int64], extra: int
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """Return the features, with zeros for virtual nodes, and which nodes are virtual."""
    rows = int(num_real.sum()) + extra * len(num_real)
    dtype = np.int64 if store.manifest.node_vocabulary is not None else np.float32
    feat = np.zeros((rows, store.node_feat.shape[1]), dtype)
    virtual = np.zeros(rows, np.bool_)
    _copy_rows(node_start, num_real, extra, store.node_feat, feat, virtual)
    return feat, virtual


def _labels(
    store: GraphArrays, index: npt.NDArray[np.int64], node_start: npt.NDArray[np.int64], num_real: npt.NDArray[np.int64]
) -> npt.NDArray[np.generic]:
    if store.manifest.task.level == "graph":
        return labels_of(store, store.label[index])
    first = np.cumsum(num_real) - num_real
    return labels_of(store, store.label[np.arange(num_real.sum()) + np.repeat(node_start - first, num_real)])


@compiled()
def _fill_pairs(  # type: ignore[no-untyped-def]
    num_real, extra, pair_start, distance, edge_start, num_edges, src, dst, edge_type, undirected,
    relation_of_distance, hub, own, indptr, keys, relation,
):  # fmt: skip
    """Write the CSC of the complete pair graph and the relation of every pair; return a broken graph, or -1."""
    first_node, base = 0, 0
    indptr[0] = 0
    for graph in range(len(num_real)):
        n = num_real[graph] + extra
        if extra:
            relation[base : base + n] = hub
        for i in range(n):
            row = base + i * n
            indptr[first_node + i + 1] = row + n
            for j in range(n):
                keys[row + j] = first_node + j
            if i >= extra:
                given = pair_start[graph] + (i - extra) * num_real[graph]
                if extra:
                    relation[row] = hub
                for j in range(num_real[graph]):
                    relation[row + extra + j] = relation_of_distance[distance[given + j]]
        # As in ToPairGraph: backwards, so that of duplicate edges the first is written last, and an edge's own
        # direction after its mirror's.
        first, last = edge_start[graph], edge_start[graph] + num_edges[graph]
        for mirrored in range(1 if undirected else 0, -1, -1):
            for e in range(last - 1, first - 1, -1):
                query, key = np.int64(dst[e]) + extra, np.int64(src[e]) + extra
                if query >= n or key >= n:
                    return graph
                if query != key:
                    pair = base + key * n + query if mirrored else base + query * n + key
                    relation[pair] = edge_type[e]
        for i in range(n):
            relation[base + i * n + i] = own
        first_node += n
        base += n * n
    return -1


@compiled()
def _copy_rows(start, count, extra, rows, out, added):  # type: ignore[no-untyped-def]
    """Copy each graph's rows after `extra` rows of its own, which are left alone and marked in `added`."""
    at = 0
    for graph in range(len(start)):
        if extra:
            added[at] = True
            at += 1
        for row in range(start[graph], start[graph] + count[graph]):
            for column in range(rows.shape[1]):
                out[at, column] = rows[row, column]
            at += 1
