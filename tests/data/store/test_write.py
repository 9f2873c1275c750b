import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.errors import InputError
from tests.data.random_graphs import random_graphs

LABELS = np.zeros(3)


def test_what_is_not_said_is_found_by_looking(tmp_path):
    graphs = random_graphs(12, 4)
    manifest = grpe_dgl.data.write(tmp_path / "data", graphs, np.arange(12) % 2, {"train": range(12)}, task="binary")
    feat = torch.cat([graph.ndata["feat"] for graph in graphs])
    assert manifest.schema.node_vocabulary == tuple((feat.amax(0) + 1).tolist())
    assert manifest.schema.num_edge_types == 1 + max(int(g.edata["feat"].max()) for g in graphs if g.num_edges())
    assert (manifest.schema.name, manifest.schema.vocabulary, manifest.schema.task.metric) == (
        "data",
        "custom",
        "rocauc",
    )
    assert manifest.splits == {"train": 12}


def test_directed_graphs_say_so(tmp_path):
    graph = dgl.graph(([0], [1]))
    graph.ndata["feat"] = torch.zeros(2, dtype=torch.int64)
    grpe_dgl.data.write(tmp_path / "data", [graph], [0.0], {}, task="regression", undirected=False)
    data = grpe_dgl.data.load(tmp_path / "data", virtual_node=False)
    # An edge 0 -> 1 types (query 1, key 0); 0 is not reached from 1. E = 1, L = 5: SELF 1, UNREACHABLE 1 + 7.
    assert data.batch([0]).pairs.edata["relation"].tolist() == [1, 8, 0, 1]


def test_replacing_needs_force(tmp_path):
    graphs = random_graphs(3)
    grpe_dgl.data.write(tmp_path / "data", graphs, LABELS, {}, task="regression")
    with pytest.raises(InputError, match="exists already; force=True replaces a dataset"):
        grpe_dgl.data.write(tmp_path / "data", graphs, LABELS, {}, task="regression")
    grpe_dgl.data.write(tmp_path / "data", graphs[:2], LABELS[:2], {}, task="regression", force=True)
    assert len(grpe_dgl.data.load(tmp_path / "data")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def without(key):
    graph = random_graphs(1)[0]
    del graph.ndata[key]
    return graph


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graphs": []}, "no graphs were given"),
        ({"graphs": [1, 2, 3]}, "graph 0 is a int; accepted: a homogeneous DGLGraph"),
        ({"graphs": [*random_graphs(2), without("feat")]}, r'graph 2 has no ndata\["feat"\]'),
        ({"labels": None}, r'no labels were given and graph 0 has no ndata\["label"\]'),
        ({"labels": np.zeros(2)}, "2 labels were given for 3 graphs"),
        ({"labels": np.array([0, 1, 2]), "task": "binary"}, "a label is 2.0; accepted: 0, 1 or NaN"),
        ({"labels": np.array([0, np.inf, 2])}, "a label is inf; accepted: numbers, or NaN"),
        ({"task": "ranking"}, "task is 'ranking'; accepted: regression, binary, multiclass"),
        ({"splits": {"train": [3]}}, r"split train names graph 3; accepted: 0..2"),
        ({"splits": {"train": [0, 1], "test": [1]}}, "split test names a graph that it or another split already has"),
        ({"splits": {"train": [0, 0]}}, "split train names a graph that it"),
        ({"splits": {"Train/x": [0]}}, "split is called 'Train/x'; accepted: small letters"),
        ({"num_edge_types": 1}, r"graph \d has an edge of type \d; accepted: 0..0"),
        ({"node_vocabulary": (7, 1)}, r"graph \d has a node with \d in column 1; accepted: 0..0"),
        ({"node_vocabulary": (7,)}, r"node_feat has shape .*; accepted: \(nodes, 1\)"),
    ],
)
def test_wrong_input_leaves_nothing_behind(tmp_path, change, message):
    arguments = {"graphs": random_graphs(3), "labels": LABELS, "splits": {}, "task": "regression", **change}
    with pytest.raises(InputError, match=message):
        grpe_dgl.data.write(tmp_path / "data", **arguments)
    assert list(tmp_path.iterdir()) == []
