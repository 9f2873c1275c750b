import json
import pickle

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.data.encodings.compute import KINDS, encode_graphs
from grpe_dgl.data.encodings.prepare import missing_encodings, prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.views import Encoding, GraphView, PairView

NAMES = ("laplacian:4", "random_walk:3")


def single(data, number, name):
    """The encoding of one graph of a dataset, computed here."""
    graph = data.graph(number)
    src, dst = (end.numpy() for end in graph.edges(order="eid"))
    sizes = np.array([graph.num_nodes()]), np.array([graph.num_edges()])
    return encode_graphs(*sizes, src, dst, Encoding.parse(name), undirected=data.schema.undirected)


@pytest.mark.parametrize("virtual_node", [False, True])
@pytest.mark.parametrize("view", [GraphView, PairView])
def test_batches_have_the_encodings_of_their_graphs(regression, view, virtual_node):
    store = Store(regression)
    seen = []
    prepare_encodings(store, NAMES, progress=lambda *told: seen.append(told))
    assert seen == [(23, 23), (23, 23)]
    data = grpe_dgl.data.load(regression, view=view(virtual_node=virtual_node, encodings=NAMES))
    graph = data.batch([4, 0, 22, 4]).graph
    expected, values = [], []
    for number in (4, 0, 22, 4):
        nodes, eigenvalues = single(data, number, "laplacian:4")
        expected.append(np.concatenate([np.zeros((int(virtual_node), 4), np.float32), nodes]))
        values.append(np.repeat(eigenvalues, len(nodes) + virtual_node, axis=0))
    np.testing.assert_array_equal(graph.ndata["laplacian"], np.concatenate(expected))
    np.testing.assert_array_equal(graph.ndata["laplacian_values"], np.concatenate(values))
    assert graph.ndata["random_walk"].shape == (graph.num_nodes(), 3)
    assert graph.ndata["random_walk"].dtype == torch.float32


def test_workers_store_the_same(regression):
    prepare_encodings(Store(regression), ["laplacian:4"])
    stored = regression / "encodings" / "laplacian-4" / "nodes.bin"
    alone = np.fromfile(stored, np.float32)
    (regression / "encodings" / "laplacian-4" / "encoding.json").unlink()
    prepare_encodings(Store(regression), ["laplacian:4"], workers=2)
    np.testing.assert_array_equal(np.fromfile(stored, np.float32), alone)


def test_computed_once_and_again_when_the_version_changes(regression, monkeypatch):
    store = Store(regression)
    prepare_encodings(store, NAMES)
    assert missing_encodings(store, NAMES) == []
    prepare_encodings(store, NAMES, progress=lambda *told: pytest.fail("computed twice"))
    monkeypatch.setitem(KINDS, "laplacian", KINDS["laplacian"]._replace(version=99))
    assert missing_encodings(store, NAMES) == [Encoding("laplacian", 4)]
    with pytest.raises(InputError, match="has an outdated version of the encoding laplacian:4"):
        Store(regression).encoding("laplacian:4")


def test_missing_and_damaged_encodings_are_errors(regression):
    data = grpe_dgl.data.load(regression, view=GraphView(encodings=("laplacian:4",)))
    with pytest.raises(InputError, match="does not have the encoding laplacian:4") as raised:
        data.batch([0])
    assert raised.value.hint == "make_encoding"
    prepare_encodings(data.store, ["laplacian:4"])
    data.batch([0])
    Store(regression).verify()
    file = regression / "encodings" / "laplacian-4" / "nodes.bin"
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"corrupt: .*laplacian-4/nodes.bin"):
        Store(regression).verify()
    file.write_bytes(content[:-4])
    with pytest.raises(InputError, match="nodes.bin is truncated"):
        Store(regression).encoding("laplacian:4")
    described = file.with_name("encoding.json")
    described.write_text(json.dumps({**json.loads(described.read_text()), "arrays": {"nodes": {"dtype": "object"}}}))
    with pytest.raises(InputError, match="encoding.json is corrupt"):
        Store(regression).encoding("laplacian:4")


def test_encodings_of_other_graphs_are_not_used(regression, node_classes):
    prepare_encodings(Store(regression), ["laplacian:4"])
    (regression / "encodings").rename(node_classes / "encodings")
    assert missing_encodings(Store(node_classes), ["laplacian:4"]) == [Encoding("laplacian", 4)]


def test_a_store_with_encodings_still_pickles(regression):
    store = Store(regression)
    prepare_encodings(store, ["laplacian:4"])
    store.encoding("laplacian:4")
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(again.encoding("laplacian:4").nodes, store.encoding("laplacian:4").nodes)
