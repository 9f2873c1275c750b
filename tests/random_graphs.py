"""Graphs for tests: hypothesis strategies and one batch with every kind of relation."""

import dgl
import torch
from hypothesis import strategies as st

from grpe_dgl.transforms import AddVirtualNode, ToPairGraph

NUM_EDGE_TYPES = 3


@st.composite
def graphs(draw, max_nodes=9, num_edge_types=NUM_EDGE_TYPES):
    """Any graph: directed edges, duplicates, self-loops, several components, no edges, one node."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(0, num_edge_types - 1)), max_size=3 * n))
    return make_graph(n, edges)


def make_graph(n, edges):
    """A graph of n nodes with edges (src, dst, type) and one node feature column."""
    src, dst, feat = (torch.tensor([edge[k] for edge in edges], dtype=torch.int64) for k in range(3))
    graph = dgl.graph((src, dst), num_nodes=n)
    graph.edata["feat"] = feat
    graph.ndata["feat"] = torch.arange(n) % 5
    return graph


def every_relation():
    """Pair graphs of 1 to 9 nodes (virtual node not counted) that hold every relation of L = 2 and three types."""
    path = make_graph(9, [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 4, 0), (6, 7, 1), (7, 7, 2), (8, 6, 2)])
    triangle = make_graph(3, [(0, 1, 2), (1, 2, 1), (2, 0, 0)])
    lonely = make_graph(1, [])
    graph = AddVirtualNode()(dgl.batch([path, lonely, triangle]))
    return ToPairGraph(max_distance=2, num_edge_types=NUM_EDGE_TYPES)(graph)
