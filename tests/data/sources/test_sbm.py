import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.data.sources import sbm
from grpe_dgl.data.sources.sbm_generate import make_run
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.errors import InputError


def adjacencies(run):
    node, edge = 0, 0
    for n, m in zip(run.num_nodes, run.num_edges, strict=True):
        adjacency = np.zeros((n, n), bool)
        adjacency[run.dst[edge : edge + m], run.src[edge : edge + m]] = True
        yield adjacency, run.node_feat[node : node + n, 0], run.label[node : node + n]
        node, edge = node + n, edge + m


@pytest.mark.parametrize("name", ["pattern", "cluster"])
def test_undirected_without_loops_or_duplicates(name):
    run = make_run(name, 0, 0, 0, 20)
    for (adjacency, _, _), m in zip(adjacencies(run), run.num_edges, strict=True):
        assert (adjacency == adjacency.T).all() and not adjacency.diagonal().any() and adjacency.sum() == m


def test_cluster_follows_the_published_procedure():
    run = make_run("cluster", 0, 0, 0, 400)
    inside, outside, sizes = [], [], []
    for adjacency, feat, label in adjacencies(run):
        counts = np.bincount(label, minlength=6)
        assert len(counts) == 6 and counts.min() >= 5 and counts.max() <= 34
        told = np.flatnonzero(feat)
        assert sorted(feat[told]) == [1, 2, 3, 4, 5, 6] and (label[told] == feat[told] - 1).all()
        assert not (np.diff(label) >= 0).all(), "nodes are not permuted"
        same = label[:, None] == label
        off_diagonal = ~np.eye(len(label), dtype=bool)
        inside.append(adjacency[same & off_diagonal].mean())
        outside.append(adjacency[~same].mean())
        sizes.append(len(label))
    assert np.mean(inside) == pytest.approx(0.55, abs=0.01) and np.mean(outside) == pytest.approx(0.25, abs=0.01)
    assert np.mean(sizes) == pytest.approx(117, abs=4) and run.num_edges.mean() == pytest.approx(4300, abs=300)


def test_pattern_follows_the_published_procedure():
    run = make_run("pattern", 0, 0, 0, 400)
    joined, host, patterns = [], [], {}
    for number, (adjacency, feat, label) in enumerate(adjacencies(run)):
        nodes = np.flatnonzero(label)
        assert 5 <= len(nodes) <= 34 and set(feat) <= {0, 1, 2}
        joined.append(adjacency[label == 1][:, label == 0].mean())
        host.append(adjacency[label == 0][:, label == 0].mean())
        inner = adjacency[np.ix_(nodes, nodes)]
        # The same pattern every hundred graphs, up to the order of its nodes.
        seen = (len(nodes), inner.sum(), tuple(sorted(inner.sum(0))), tuple(np.bincount(feat[nodes], minlength=3)))
        assert patterns.setdefault(number % 100, seen) == seen
    assert len(set(patterns.values())) > 90
    assert np.mean(joined) == pytest.approx(0.5, abs=0.01)
    assert 0.35 < np.mean(host) < 0.42  # 0.5 inside a community, 0.35 between
    assert run.num_nodes.mean() == pytest.approx(117, abs=4)
    assert run.num_edges.mean() == pytest.approx(5900, abs=350)


def test_a_graph_follows_from_seed_split_and_number_alone():
    whole, tail = make_run("cluster", 3, 1, 0, 7), make_run("cluster", 3, 1, 4, 7)
    assert whole.src[-tail.num_edges.sum() :].tolist() == tail.src.tolist()
    for other in (make_run("cluster", 4, 1, 0, 7), make_run("cluster", 3, 2, 0, 7)):
        assert whole.num_nodes.tolist() != other.num_nodes.tolist()


def test_generated_dataset(tmp_path):
    preprocess(sbm.generated("cluster", graphs=(150, 3, 2), seed=1), tmp_path / "cluster")
    data = grpe_dgl.data.load(tmp_path / "cluster")
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 150, "valid": 3, "test": 2}
    assert (data.task.num_outputs, data.task.metric, data.task.level) == (6, "weighted_accuracy", "node")
    expected = make_run("cluster", 1, 2, 0, 2)
    assert torch.cat([graph.ndata["label"] for graph in data.test]).tolist() == expected.label.tolist()
    assert data.valid[0].edata["feat"].unique().tolist() == [0]


def test_published_files(tmp_path):
    folder = tmp_path / "pattern_ce998509"  # where dgl.data.PATTERNDataset keeps its files
    graphs = []
    for n in (4, 3):
        graph = dgl.graph((np.arange(n - 1), np.arange(1, n)), num_nodes=n)
        graph.ndata["feat"] = torch.arange(n) % 3
        graph.ndata["label"] = (torch.arange(n) % 2).to(torch.int16)
        graph.edata["feat"] = torch.ones(n - 1, 1)
        graphs.append(graph)
    folder.mkdir()
    for split in ("train", "valid", "test"):
        dgl.save_graphs(str(folder / f"SBM_PATTERN_{split}.bin"), graphs)
    preprocess(sbm.published("pattern", tmp_path), tmp_path / "pattern")
    data = grpe_dgl.data.load(tmp_path / "pattern")
    assert [graph.ndata["label"].tolist() for graph in data.valid] == [[0, 1, 0, 1], [0, 1, 0]]
    assert data.test[0].ndata["feat"].tolist() == [[0], [1], [2], [0]]
    assert data.manifest.settings == {"dataset": "pattern", "generate": False}


@pytest.mark.parametrize("graphs", [(1, 2), (0, 0, 0), (-1, 2, 3)])
def test_wrong_counts(graphs):
    with pytest.raises(InputError, match="accepted: three counts, for train, valid, test"):
        sbm.generated("cluster", graphs=graphs)
