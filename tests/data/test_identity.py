import time

import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.data import identity
from grpe_dgl.data.identity import DataIdentity, graph_hashes
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from tests.training.tiny import write_dataset


def write(path, graphs, train, **options):
    rest = sorted(set(range(len(graphs))) - set(train))
    splits = {"train": train, "valid": rest[:1], "test": rest[1:]}
    options = {"node_vocabulary": (300,), "num_edge_types": 300, **options}
    grpe_dgl.data.write(path, graphs, np.arange(len(graphs)) * 1.0, splits, task="regression", **options)
    return Store(path)


def path_graph(n, feat, types):
    graph = dgl.graph((torch.arange(n - 1), torch.arange(1, n)), num_nodes=n)
    graph.ndata["feat"], graph.edata["feat"] = torch.tensor(feat), torch.tensor(types)
    return graph


def test_hashes_follow_the_values_and_not_the_types_they_are_stored_in(tmp_path):
    graphs = [
        path_graph(3, [1, 2, 3], [0, 1]),
        path_graph(3, [1, 2, 4], [0, 1]),
        path_graph(3, [1, 2, 3], [1, 0]),
        path_graph(4, [1, 2, 3, 0], [0, 1, 0]),
        path_graph(3, [1, 2, 3], [0, 1]),
    ]
    wide = write(tmp_path / "wide", graphs, [0])
    narrow = write(tmp_path / "narrow", graphs, [0], node_vocabulary=(5,), num_edge_types=2)
    assert wide.node_feat.dtype == np.uint16 and narrow.node_feat.dtype == np.uint8
    found = graph_hashes(wide, np.arange(5))
    assert found[0] == found[4] and len(set(found.tolist())) == 4
    np.testing.assert_array_equal(found, graph_hashes(narrow, np.arange(5)))


def test_numbers_of_nodes_are_hashed_to_the_bit(tmp_path):
    graphs = [path_graph(2, [1.0, 2.0], [0]), path_graph(2, [1.0, 2.0000002], [0]), path_graph(2, [1.0, 2.0], [0])]
    found = graph_hashes(write(tmp_path / "floats", graphs, [0], node_vocabulary=None), np.arange(3))
    assert found[0] == found[2] != found[1]


def test_what_differs_is_named(tmp_path):
    graphs = [path_graph(3, [number, 0, 0], [0, 0]) for number in range(6)]
    first = DataIdentity.of(write(tmp_path / "a", graphs, [0, 1, 2]))
    assert first.differences(DataIdentity.of(write(tmp_path / "b", graphs, [0, 1, 2]))) == []
    other = write(tmp_path / "c", graphs, [1, 2, 3])
    assert first.differences(DataIdentity.of(other)) == ["the splits train, valid"]
    assert first.count_training_graphs(other, np.array([0, 2, 4])) == 2
    with pytest.raises(InputError, match="x was trained on other data: the splits train, valid of c changed since"):
        first.require_same(DataIdentity.of(other), what="x", data="c")
    graphs[5] = path_graph(3, [7, 0, 0], [0, 0])
    assert first.differences(DataIdentity.of(write(tmp_path / "d", graphs, [0, 1, 2]))) == ["the graphs (node_feat)"]


def test_many_graphs_are_not_listed(tmp_path, monkeypatch):
    store = Store(write_dataset(tmp_path / "tiny", "regression"))
    monkeypatch.setattr(identity, "MAX_GRAPHS", 19)
    found = DataIdentity.of(store)
    assert found.training_graphs is None and found.count_training_graphs(store, np.arange(3)) is None
    assert DataIdentity.from_dict(found.to_dict()) == found


def test_a_dataset_of_molecules_is_hashed_in_less_than_a_second(tmp_path):
    graphs = [path_graph(25, list(range(25)), [0] * 24)] * 1000
    store = write(tmp_path / "many", graphs, range(900))
    graph_hashes(store, np.arange(2))  # compiled or read from the cache
    begin = time.perf_counter()
    graph_hashes(store, np.repeat(np.arange(1000), 40))  # as many as molhiv has
    assert time.perf_counter() - begin < 1
