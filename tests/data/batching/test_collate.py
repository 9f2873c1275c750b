import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import grpe_dgl.data
from grpe_dgl.errors import InputError
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from grpe_dgl.views import PairView
from tests.data.random_graphs import NODE_VOCABULARY, NUM_EDGE_TYPES, random_graphs


def one_by_one(graphs, *, max_distance, num_edge_types, virtual_node, undirected):
    transform = ToPairGraph(max_distance, num_edge_types, undirected)
    return dgl.batch([transform(AddVirtualNode()(graph) if virtual_node else graph) for graph in graphs])


def assert_equal_pairs(got, expected, codes=("relation",)):
    assert torch.equal(got.batch_num_nodes(), expected.batch_num_nodes().to(got.idtype))
    assert torch.equal(got.batch_num_edges(), expected.batch_num_edges().to(got.idtype))
    for ours, theirs in zip(got.edges(order="eid"), expected.edges(order="eid"), strict=True):
        assert torch.equal(ours.long(), theirs.long())
    for key in set(expected.ndata) - {"label"}:
        assert got.ndata[key].dtype == expected.ndata[key].dtype
        assert torch.equal(got.ndata[key], expected.ndata[key])
    assert set(got.ndata) == set(expected.ndata) - {"label"}
    assert set(got.edata) == set(codes)
    for code in codes:
        assert got.edata[code].dtype == expected.edata[code].dtype == torch.int32
        assert torch.equal(got.edata[code], expected.edata[code])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    max_distance=st.integers(1, 12),
    virtual_node=st.booleans(),
    undirected=st.booleans(),
)
def test_equals_transforming_single_graphs_and_batching(tmp_path_factory, seed, max_distance, virtual_node, undirected):
    graphs = random_graphs(9, seed)
    path = tmp_path_factory.mktemp("store") / "data"
    grpe_dgl.data.write(
        path,
        graphs,
        np.arange(9.0),
        {},
        task="regression",
        node_vocabulary=NODE_VOCABULARY,
        num_edge_types=NUM_EDGE_TYPES,
        undirected=undirected,
    )
    data = grpe_dgl.data.load(path, max_distance=max_distance, virtual_node=virtual_node)
    index = np.random.default_rng(seed).permutation(9)[:6]
    codes = ("relation", "spd", "edge")
    batch = grpe_dgl.data.batching.collate.collate(
        data.store, index, PairView(max_distance=max_distance, virtual_node=virtual_node, codes=codes)
    )
    expected = one_by_one(
        [graphs[i] for i in index],
        max_distance=max_distance,
        num_edge_types=NUM_EDGE_TYPES,
        virtual_node=virtual_node,
        undirected=undirected,
    )
    assert_equal_pairs(batch.pairs, expected, codes)
    assert batch.label.tolist() == [[float(i)] for i in index]
    assert batch.indices.tolist() == index.tolist()


def test_one_node_and_no_edges(tmp_path):
    graph = dgl.graph(([], []), num_nodes=1)
    graph.ndata["feat"] = torch.tensor([2])
    grpe_dgl.data.write(tmp_path / "data", [graph], [1.5], {"train": [0]}, task="regression")
    pairs, label, indices = grpe_dgl.data.load(tmp_path / "data").batch([0])
    # E = 1: SELF is relation 1, VIRTUAL is 2.
    assert pairs.edata["relation"].tolist() == [1, 2, 2, 1]
    assert pairs.ndata["feat"].tolist() == [[0], [2]]
    assert pairs.ndata["virtual"].tolist() == [True, False]
    assert (label.tolist(), indices.tolist()) == ([[1.5]], [0])


def test_a_path_by_hand(tmp_path):
    # 0 - 1 - 2   3, edge types 1 and 0 of 2; L = 1, so that distance 2 is FAR.
    graph = dgl.graph(([0, 1], [1, 2]), num_nodes=4)
    graph.ndata["feat"] = torch.zeros(4, dtype=torch.int64)
    graph.edata["feat"] = torch.tensor([1, 0])
    grpe_dgl.data.write(tmp_path / "data", [graph], [0.0], {}, task="regression")
    pairs = grpe_dgl.data.load(tmp_path / "data", max_distance=1, virtual_node=False).batch([0]).pairs
    self_, far, unreachable = 2, 4, 5  # E + 0, E + 2, E + 3; E + 1 is the virtual node's
    assert pairs.edata["relation"].view(4, 4).tolist() == [
        [self_, 1, far, unreachable],
        [1, self_, 0, unreachable],
        [far, 0, self_, unreachable],
        [unreachable, unreachable, unreachable, self_],
    ]
    assert "virtual" not in pairs.ndata


def test_distances_beyond_a_byte(tmp_path):
    n = 300
    graph = dgl.graph((np.arange(n - 1), np.arange(1, n)), num_nodes=n)
    graph.ndata["feat"] = torch.zeros(n, dtype=torch.int64)
    grpe_dgl.data.write(tmp_path / "data", [graph], [0.0], {}, task="regression")
    data = grpe_dgl.data.load(tmp_path / "data", max_distance=252, virtual_node=False)
    assert data.store.src.dtype == np.uint16
    assert data.store.distance[:n][[0, 253, 254, 299]].tolist() == [0, 253, 254, 254]
    expected = ToPairGraph(252, 1)(graph)
    assert torch.equal(data.batch([0]).pairs.edata["relation"], expected.edata["relation"])


def test_float_features_and_node_labels(tmp_path, node_classes):
    graphs = random_graphs(5, 3)
    for graph in graphs:
        graph.ndata["feat"] = torch.randn(graph.num_nodes(), 3)
    grpe_dgl.data.write(tmp_path / "float", graphs, np.zeros(5), {}, task="binary", num_edge_types=NUM_EDGE_TYPES)
    data = grpe_dgl.data.load(tmp_path / "float", virtual_node=False)
    feat = data.batch([4, 1]).pairs.ndata["feat"]
    assert torch.equal(feat, torch.cat([graphs[4].ndata["feat"], graphs[1].ndata["feat"]]))

    graphs = random_graphs(23, 5, node_labels=True)
    label = grpe_dgl.data.load(node_classes).batch([7, 3]).label
    assert torch.equal(label, torch.cat([graphs[7].ndata["label"], graphs[3].ndata["label"]]))


def test_missing_binary_labels_come_back_as_nan(tmp_path):
    labels = np.array([[0, 1], [np.nan, 1], [1, np.nan]])
    grpe_dgl.data.write(tmp_path / "data", random_graphs(3), labels, {}, task="binary")
    data = grpe_dgl.data.load(tmp_path / "data")
    assert data.store.label.dtype == np.int8
    np.testing.assert_array_equal(data.batch([0, 1, 2]).label.numpy(), labels)


def test_a_model_takes_a_batch(regression):
    from grpe_dgl.nn import GRPE

    torch.manual_seed(0)
    model = GRPE.from_preset(
        "tiny", num_outputs=2, max_distance=5, num_edge_types=NUM_EDGE_TYPES, node_vocabulary=NODE_VOCABULARY
    ).eval()
    data = grpe_dgl.data.load(regression)
    together = model(data.batch([3, 8]).pairs)
    alone = torch.cat([model(data.batch([i]).pairs) for i in (3, 8)])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("index", [[], [[0]], [-1], [23]])
def test_wrong_indices(regression, index):
    with pytest.raises(InputError, match="was asked for; accepted"):
        grpe_dgl.data.load(regression).batch(index)


def test_an_edge_out_of_its_graph_is_an_error_not_a_crash(regression):
    file = regression / "src.bin"
    file.write_bytes(b"\xff" * file.stat().st_size)
    data = grpe_dgl.data.load(regression)
    with pytest.raises(InputError, match=r"is corrupt: graph \d+ has an edge to a node that does not exist"):
        data.batch(np.arange(23))
