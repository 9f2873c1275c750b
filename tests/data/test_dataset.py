import pickle

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.errors import InputError
from tests.data.conftest import SPLITS
from tests.data.random_graphs import random_graphs


def assert_same_graph(got, expected):
    assert got.num_nodes() == expected.num_nodes()
    for ours, theirs in zip(got.edges(order="eid"), expected.edges(order="eid"), strict=True):
        assert torch.equal(ours, theirs)
    assert set(got.ndata) == set(expected.ndata) and set(got.edata) == set(expected.edata)
    for key in expected.ndata:
        assert torch.equal(got.ndata[key], expected.ndata[key])
    for key in expected.edata:
        assert torch.equal(got.edata[key], expected.edata[key])


def test_a_split_is_a_pytorch_dataset(regression):
    data, graphs = grpe_dgl.data.load(regression), random_graphs(23)
    assert isinstance(data.train, torch.utils.data.Dataset)
    assert (len(data), len(data.train), len(data.valid), len(data.test)) == (23, 17, 3, 3)
    labels = np.random.default_rng(1).normal(3.0, 2.0, (23, 2)).astype(np.float32)
    for i, number in enumerate(SPLITS["valid"]):
        graph, label = data.valid[i]
        assert_same_graph(graph, graphs[number])
        assert label.dtype == torch.float32 and label.tolist() == labels[number].tolist()
    assert_same_graph(data.valid[-1][0], graphs[2])
    assert len(list(data.valid)) == 3  # iterating by index ends
    with pytest.raises(IndexError):
        data.valid[3]


def test_datasets_and_splits_say_what_they_are(regression):
    data = grpe_dgl.data.load(regression)
    assert repr(data) == "Dataset('regression', 23 graphs: train 17, valid 3, test 3)"
    assert repr(data.train) == "Split('train' of 'regression', 17 graphs)"


def test_a_dataset_without_splits_says_so(tmp_path):
    grpe_dgl.data.write(tmp_path / "data", random_graphs(3), [0.0, 1, 2], {}, task="regression")
    assert repr(grpe_dgl.data.load(tmp_path / "data")) == "Dataset('data', 3 graphs: no splits)"


def test_node_tasks_have_their_labels_in_the_graph(node_classes):
    data, graphs = grpe_dgl.data.load(node_classes), random_graphs(23, 5, node_labels=True)
    assert_same_graph(data["valid"][1], graphs[22])
    expected = torch.cat([graphs[number].ndata["label"] for number in SPLITS["test"]])
    assert torch.equal(data.test.labels(), expected)
    assert data.task.num_outputs == 4


def test_multiclass_labels(tmp_path):
    grpe_dgl.data.write(tmp_path / "data", random_graphs(3), [2, -1, 0], {"train": [0, 1, 2]}, task="multiclass")
    data = grpe_dgl.data.load(tmp_path / "data")
    assert data.task.classes == ("0", "1", "2")
    assert data.train[0][1].dtype == torch.int64 and data.train.labels().tolist() == [2, -1, 0]


def test_a_split_that_is_not_there(tmp_path):
    grpe_dgl.data.write(tmp_path / "data", random_graphs(3), [0.0, 1, 2], {"train": [0], "dev": [1]}, task="regression")
    with pytest.raises(InputError, match="has no split 'valid'; it has train, dev"):
        _ = grpe_dgl.data.load(tmp_path / "data").valid


@pytest.mark.parametrize("max_distance", [0, 253])
def test_wrong_max_distance(regression, max_distance):
    with pytest.raises(InputError, match=f"max_distance is {max_distance}; accepted: 1..252"):
        grpe_dgl.data.load(regression, max_distance=max_distance)


def test_another_process_gets_the_path_not_the_arrays(regression):
    data = grpe_dgl.data.load(regression, max_distance=7)
    message = pickle.dumps(data.train)
    assert len(message) < 2000
    copy = pickle.loads(message)
    assert torch.equal(copy[3][1], data.train[3][1]) and copy.dataset.relations == data.relations
