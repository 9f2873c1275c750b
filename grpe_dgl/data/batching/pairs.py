"""The batched pair graph of some graphs of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from grpe_dgl.data.batching.slices import WRONG_EDGE, Slices, corrupt, node_features
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.relations import Relations
from grpe_dgl.transforms.pair_codes import fill_relations
from grpe_dgl.transforms.pair_structure import attach_codes, complete_pairs, require_room
from grpe_dgl.transforms.path_edges import fill_paths
from grpe_dgl.views import PairView

if TYPE_CHECKING:
    import dgl


def collate_pairs(arrays: GraphArrays, slices: Slices, view: PairView) -> dgl.DGLGraph:
    """Return the batched complete pair graph with ``ndata["feat"]``, ``ndata["virtual"]`` and the view's codes."""
    relations = Relations(view.max_distance, arrays.schema.num_edge_types)
    extra = int(view.virtual_node)
    num_nodes = slices.num_nodes + extra
    total_pairs = int((num_nodes * num_nodes).sum())
    idtype = torch.int32 if total_pairs < 2**31 else torch.int64
    require_room(torch.from_numpy(num_nodes), codes=len(view.codes), index_bytes=idtype.itemsize)
    relation = np.empty(total_pairs, np.int32)
    wrong = _fill(
        slices.num_nodes,
        extra,
        (slices.pair_start, slices.edge_start, slices.num_edges),
        arrays.distance,
        (arrays.src, arrays.dst, arrays.edge_type),
        arrays.schema.undirected,
        relations.relation_of_distance(),
        (relations.own, relations.virtual),
        relation,
    )
    if wrong >= 0:
        raise corrupt(arrays, WRONG_EDGE.format(slices.graphs[wrong]))
    pairs = complete_pairs(torch.from_numpy(num_nodes), idtype=idtype)
    feat, virtual = node_features(arrays, slices, virtual_node=view.virtual_node)
    pairs.ndata["feat"] = torch.from_numpy(feat)
    if view.virtual_node:
        pairs.ndata["virtual"] = torch.from_numpy(virtual)
    for name, code in relations.split(relation, view.codes).items():
        pairs.edata[name] = torch.from_numpy(code)
    if view.path_edges:
        path = np.empty((total_pairs, view.path_edges), np.int32)
        fill_paths(slices.num_nodes, extra, slices.pair_start, arrays.distance, relation, relations.own, path)
        pairs.edata["path"] = torch.from_numpy(path)
    attach_codes(pairs, relations)
    return pairs


@compiled()
def _fill(  # type: ignore[no-untyped-def]
    num_real, extra, starts, distance, edges, undirected, relation_of_distance, codes, relation
):
    """Write the relation of every pair of every graph; return the first graph with an edge that ends nowhere, or -1."""
    pair_start, edge_start, num_edges = starts
    src, dst, edge_type = edges
    own, virtual = codes
    base = 0
    for graph in range(len(num_real)):
        n = num_real[graph]
        size = n + extra
        if (
            pair_start[graph] < 0
            or pair_start[graph] + n * n > len(distance)
            or edge_start[graph] < 0
            or edge_start[graph] + num_edges[graph] > len(src)
            or base + size * size > len(relation)
        ):
            return graph
        pairs = slice(pair_start[graph], pair_start[graph] + n * n)
        part = slice(edge_start[graph], edge_start[graph] + num_edges[graph])
        out = relation[base : base + size * size]
        if not fill_relations(
            n, extra, distance[pairs], src[part], dst[part], edge_type[part], undirected, relation_of_distance, own,
            virtual, out,
        ):  # fmt: skip
            return graph
        base += size * size
    return -1
