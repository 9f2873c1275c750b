"""The batched graph itself, as the source gave it, of some graphs of a dataset."""

import dgl
import numpy as np
import torch

from grpe_dgl.data.batching.slices import WRONG_EDGE, Slices, corrupt, node_features
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.views import GraphView


def collate_graphs(arrays: GraphArrays, slices: Slices, view: GraphView) -> dgl.DGLGraph:
    """Return the batched graph with ``ndata["feat"]``, ``edata["feat"]`` and marks of what the view adds.

    Of each graph first its own edges, then its self-loops, then those from its virtual node to every other, then back.
    """
    extra, loops = int(view.virtual_node), int(view.self_loops)
    added = (loops + 2 * extra) * slices.num_nodes
    edges_per_graph = slices.num_edges + added
    total = int(edges_per_graph.sum())
    src, dst = np.empty(total, np.int64), np.empty(total, np.int64)
    feat = np.zeros(total, np.int64)
    kind = np.zeros(total, np.uint8)
    wrong = _fill(
        slices.num_nodes,
        (slices.edge_start, slices.num_edges),
        (arrays.src, arrays.dst, arrays.edge_type),
        (loops, extra, arrays.schema.num_edge_types),
        (src, dst, feat, kind),
    )
    if wrong >= 0:
        raise corrupt(arrays, WRONG_EDGE.format(slices.graphs[wrong]))
    nodes_per_graph = torch.from_numpy(slices.num_nodes + extra)
    graph = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=int(nodes_per_graph.sum()))
    graph.set_batch_num_nodes(nodes_per_graph)
    graph.set_batch_num_edges(torch.from_numpy(edges_per_graph))
    node_feat, virtual = node_features(arrays, slices, virtual_node=view.virtual_node)
    graph.ndata["feat"] = torch.from_numpy(node_feat)
    graph.edata["feat"] = torch.from_numpy(feat)
    if view.self_loops:
        graph.edata["self_loop"] = torch.from_numpy(kind == _SELF_LOOP)
    if view.virtual_node:
        graph.ndata["virtual"] = torch.from_numpy(virtual)
        graph.edata["virtual"] = torch.from_numpy(kind == _VIRTUAL)
    return graph


_SELF_LOOP, _VIRTUAL = 1, 2


@compiled()
def _fill(num_nodes, edge_slices, edges, counts, out):  # type: ignore[no-untyped-def]
    """Write ends, code and kind of every edge; return the first graph with an edge that does not fit, or -1."""
    edge_start, num_edges = edge_slices
    src, dst, edge_type = edges
    loops, extra, num_edge_types = counts
    out_src, out_dst, out_feat, out_kind = out
    at, first = 0, 0
    for graph in range(len(num_nodes)):
        n = num_nodes[graph]
        real = first + extra
        last_edge = edge_start[graph] + num_edges[graph]
        if edge_start[graph] < 0 or last_edge > len(src) or at + num_edges[graph] > len(out_src):
            return graph
        for e in range(edge_start[graph], last_edge):
            begin, end, code = np.int64(src[e]), np.int64(dst[e]), np.int64(edge_type[e])
            if begin < 0 or end < 0 or begin >= n or end >= n or code < 0 or code >= num_edge_types:
                return graph
            out_src[at], out_dst[at], out_feat[at] = real + begin, real + end, code
            at += 1
        if loops:
            for i in range(n):
                out_src[at], out_dst[at], out_kind[at] = real + i, real + i, _SELF_LOOP
                at += 1
        if extra:
            for i in range(n):
                out_src[at], out_dst[at], out_kind[at] = first, real + i, _VIRTUAL
                out_src[at + n], out_dst[at + n], out_kind[at + n] = real + i, first, _VIRTUAL
                at += 1
            at += n
        first = real + n
    return -1
