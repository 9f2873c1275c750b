import warnings

import dgl
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpe_dgl.relations import LARGEST_DISTANCE, UNREACHABLE
from grpe_dgl.transforms.shortest_paths import all_pairs_distances
from tests.random_graphs import graphs, make_graph


def distances(graph, *, limit=LARGEST_DISTANCE, undirected=True):
    """The kernel's answer for one DGLGraph, (n, n)."""
    n, m = graph.num_nodes(), graph.num_edges()
    src, dst = (end.numpy() for end in graph.edges(order="eid"))
    flat = all_pairs_distances(np.array([0, n]), np.array([0, m]), src, dst, limit=limit, undirected=undirected)
    return flat.reshape(n, n)


def expected(graph, *, undirected, limit=LARGEST_DISTANCE):
    """networkx's answer: entry (i, j) is the path from j to i."""
    simple = nx.Graph() if undirected else nx.DiGraph()
    simple.add_nodes_from(range(graph.num_nodes()))
    simple.add_edges_from(zip(*(end.tolist() for end in graph.edges()), strict=True))
    result = np.full((graph.num_nodes(),) * 2, UNREACHABLE)
    for j, lengths in nx.all_pairs_shortest_path_length(simple):
        for i, length in lengths.items():
            result[i, j] = min(length, limit + 1)
    return result


@settings(deadline=None, max_examples=150)
@given(graph=graphs(max_nodes=12), undirected=st.booleans(), limit=st.integers(1, 6))
def test_equals_networkx(graph, undirected, limit):
    found = distances(graph, limit=limit, undirected=undirected)
    np.testing.assert_array_equal(found, expected(graph, undirected=undirected, limit=limit))


@settings(deadline=None, max_examples=50)
@given(graph=graphs(max_nodes=12))
def test_equals_dgl(graph):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's, from inside DGL
        theirs = dgl.shortest_dist(dgl.to_simple(graph)).numpy().T
    np.testing.assert_array_equal(distances(graph, undirected=False), np.where(theirs < 0, UNREACHABLE, theirs))


@pytest.mark.parametrize("undirected", [True, False])
def test_path_longer_than_a_byte(undirected):
    path = make_graph(300, [(i, i + 1, 0) for i in range(299)])
    found = distances(path, undirected=undirected)
    np.testing.assert_array_equal(found, expected(path, undirected=undirected))
    assert found[299, 0] == LARGEST_DISTANCE + 1 and found[LARGEST_DISTANCE, 0] == LARGEST_DISTANCE
    assert found[0, 299] == (LARGEST_DISTANCE + 1 if undirected else UNREACHABLE)


def test_by_hand():
    graph = make_graph(6, [(0, 1, 0), (1, 2, 0), (1, 2, 0), (2, 2, 0), (2, 3, 0), (4, 5, 0)])
    far, no = 3, UNREACHABLE
    assert distances(graph, limit=2).tolist() == [
        [0, 1, 2, far, no, no],
        [1, 0, 1, 2, no, no],
        [2, 1, 0, 1, no, no],
        [far, 2, 1, 0, no, no],
        [no, no, no, no, 0, 1],
        [no, no, no, no, 1, 0],
    ]
    assert distances(graph, limit=2, undirected=False).tolist() == [
        [0, no, no, no, no, no],
        [1, 0, no, no, no, no],
        [2, 1, 0, no, no, no],
        [far, 2, 1, 0, no, no],
        [no, no, no, no, 0, no],
        [no, no, no, no, 1, 0],
    ]


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 70), degree=st.integers(8, 12), seed=st.integers(0, 999), undirected=st.booleans())
def test_many_edges(n, degree, seed, undirected):
    """Enough edges for the search by sets of bits; most of them among a few nodes, so that some are far or alone."""
    rng = np.random.default_rng(seed)
    src = rng.integers(0, n, degree * n) // rng.integers(1, 9, degree * n)
    dst = np.minimum(src + rng.integers(-2, 3, degree * n), n - 1).clip(0)
    graph = make_graph(n, [(int(u), int(v), 0) for u, v in zip(src, dst, strict=True)])
    for limit in (2, LARGEST_DISTANCE):
        found = distances(graph, limit=limit, undirected=undirected)
        np.testing.assert_array_equal(found, expected(graph, undirected=undirected, limit=limit))


def test_one_node_and_no_graph():
    assert distances(make_graph(1, [])).tolist() == [[0]]
    nothing = np.zeros(0, np.int64)
    assert all_pairs_distances(np.array([0]), np.array([0]), nothing, nothing).shape == (0,)


@settings(deadline=None, max_examples=30)
@given(batch=st.lists(graphs(), min_size=1, max_size=5), undirected=st.booleans())
def test_many_graphs_equal_each_alone(batch, undirected):
    nodes = np.cumsum([0] + [graph.num_nodes() for graph in batch])
    edges = np.cumsum([0] + [graph.num_edges() for graph in batch])
    src, dst = (np.concatenate([graph.edges(order="eid")[k].numpy() for graph in batch]) for k in (0, 1))
    together = all_pairs_distances(nodes, edges, src, dst, undirected=undirected)
    alone = [distances(graph, undirected=undirected).ravel() for graph in batch]
    np.testing.assert_array_equal(together, np.concatenate(alone))
