"""Edges along shortest paths: by hand, against a walk of NetworkX's distances, and with tensors alone."""

import numpy as np
import pytest
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.store.arrays import ArraysInMemory
from grpe_dgl.data.store.validation import pack
from grpe_dgl.errors import InputError
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema, Task
from grpe_dgl.transforms.path_edges import padded_paths
from grpe_dgl.views import PairView

TASK = Task(level="graph", kind="regression", targets=("t",), metric="mae")
TYPES = 7


def batch(graphs, view, undirected=True):
    """Return the pair graph of (nodes, [(src, dst, type), ...]) each."""
    schema = Schema(
        name="x", task=TASK, vocabulary="custom", node_vocabulary=(1,), edge_columns=(TYPES,), undirected=undirected
    )
    edges = np.array([edge for _, some in graphs for edge in some], np.int64).reshape(-1, 3)
    sizes = np.array([n for n, _ in graphs])
    run = Graphs(
        num_nodes=sizes,
        num_edges=np.array([len(some) for _, some in graphs]),
        node_feat=np.zeros((sizes.sum(), 1), np.int64),
        src=edges[:, 0],
        dst=edges[:, 1],
        edge_type=edges[:, 2],
        label=np.zeros((len(graphs), 1)),
    )
    return collate(ArraysInMemory(pack(run, schema), schema), np.arange(len(graphs)), view).graph


def paths_of(graphs, length, **options):
    """Return (n, n, length) of each graph, without a virtual node."""
    pairs = batch(graphs, PairView(virtual_node=False, path_edges=length), **options)
    parts = pairs.edata["path"].split(pairs.batch_num_edges().tolist())
    return [part.view(n, n, length) for part, (n, _) in zip(parts, graphs, strict=True)]


def test_a_path_by_hand():
    line = (4, [(0, 1, 3), (1, 2, 4), (2, 3, 5)])
    (path,) = paths_of([line], 2)
    none = TYPES
    assert path[0].tolist() == [[none, none], [3, none], [3, 4], [3, 4]]  # cut after two edges
    assert path[3].tolist() == [[5, 4], [5, 4], [5, none], [none, none]]  # from the query on


def test_ties_go_to_the_lowest_neighbour_of_the_query():
    # A ring of four: from 0 to 2 by 1 (edges 1, 2) or by 3 (edges 4, 3).
    ring = (4, [(0, 3, 4), (3, 2, 3), (2, 1, 2), (1, 0, 1)])
    (path,) = paths_of([ring], 2)
    assert path[0, 2].tolist() == [1, 2] and path[2, 0].tolist() == [2, 1]
    assert path[1, 3].tolist() == [1, 4] and path[3, 1].tolist() == [4, 1]


def test_directed_paths_run_from_key_to_query_and_unreachable_pairs_have_none():
    arrows = (3, [(0, 1, 5), (1, 2, 6)])
    (path,) = paths_of([arrows], 3, undirected=False)
    assert path[2, 0].tolist() == [6, 5, TYPES]  # the edge into the query first
    assert (path[0] == TYPES).all()


def random_graph(rng, n):
    edges = {}
    for _ in range(int(rng.integers(0, 2 * n))):
        a, b = (int(x) for x in rng.integers(0, n, 2))
        if a != b:
            edges.setdefault((min(a, b), max(a, b)), int(rng.integers(0, TYPES)))
    return n, [(a, b, kind) for (a, b), kind in edges.items()]


def naive_paths(n, edges, length):
    """Breadth-first distances, then steps to the lowest neighbour that is one closer to the key."""
    kind = {(a, b): k for a, b, k in edges} | {(b, a): k for a, b, k in edges}
    distance = np.full((n, n), 10**6)
    np.fill_diagonal(distance, 0)
    for _ in range(n):
        for a, b in kind:
            distance[a] = np.minimum(distance[a], distance[b] + 1)
    path = np.full((n, n, length), TYPES)
    for i in range(n):
        for j in range(n):
            at = i
            for hop in range(length):
                if at == j or distance[i, j] >= 10**6:
                    break
                step = min(k for k in range(n) if (at, k) in kind and distance[k, j] == distance[at, j] - 1)
                path[i, j, hop] = kind[at, step]
                at = step
    return path


def test_random_graphs_equal_the_naive_walk_and_the_tensor_form():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, n) for n in (1, 2, 5, 8, 11, 7)]
    view = PairView(max_distance=20, path_edges=4)
    pairs = batch(graphs, view)
    sizes = [n + 1 for n, _ in graphs]
    most = max(sizes)
    relation = torch.zeros(len(sizes), most, most, dtype=torch.int64)
    real = torch.zeros(len(sizes), most, dtype=torch.bool)
    parts = pairs.edata["path"].split(pairs.batch_num_edges().tolist())
    codes = pairs.edata["relation"].split(pairs.batch_num_edges().tolist())
    for g, (n, edges) in enumerate(graphs):
        found = parts[g].view(n + 1, n + 1, 4)
        np.testing.assert_array_equal(found[1:, 1:], naive_paths(n, edges, 4))
        assert (found[0] == TYPES).all() and (found[:, 0] == TYPES).all()
        relation[g, : n + 1, : n + 1] = codes[g].view(n + 1, n + 1)
        real[g, 1 : n + 1] = True
    spd = torch.from_numpy(Relations(20, TYPES).spd_of_relation())[relation]
    dense = padded_paths(relation, real, torch.where(spd <= 20, spd, -2), TYPES, 4)
    for g, (n, _) in enumerate(graphs):
        assert torch.equal(dense[g, : n + 1, : n + 1], parts[g].view(n + 1, n + 1, 4).long())


def test_a_negative_number_of_edges_is_refused():
    with pytest.raises(InputError, match="path_edges is -1; accepted: 0 or more"):
        PairView(path_edges=-1)
