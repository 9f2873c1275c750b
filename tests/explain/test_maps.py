import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.explain import AttentionMaps, attention_maps
from grpe_dgl.explain.summary import DISTANCES, summarise_attention
from grpe_dgl.families import settings_class
from tests.models.test_attention import MODELS
from tests.training.tiny import TASKS, write_dataset


def build(name, folder):
    settings = settings_class(name.split("_")[0])(**MODELS[name])
    prepare_encodings(Store(folder), settings.view.encodings)
    data = grpe_dgl.data.load(folder, view=settings.view)
    torch.manual_seed(0)
    return build_model(settings, data.schema).eval(), data


@pytest.mark.parametrize("name", ["grpe", "egt_virtual", "gat"])
def test_the_maps_of_a_batch_are_those_of_its_graphs(name, tmp_path):
    model, data = build(name, write_dataset(tmp_path / "tiny", "regression"))
    together = attention_maps(model, data.view, data.store, np.array([4, 0, 2]))
    for graph, maps in zip((4, 0, 2), together, strict=True):
        alone = attention_maps(model, data.view, data.store, np.array([graph]))[0]
        for ours, theirs in zip(maps.layers, alone.layers, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
        n = data.graph(graph).num_nodes()
        assert maps.virtual == {"grpe": 1, "egt_virtual": 2, "gat": 0}[name]
        assert maps.layers[0].shape == (2, n + maps.virtual, n + maps.virtual)
        assert not maps.adjacency[: maps.virtual].any() and maps.distance.shape == (n, n)
        src, dst = (end.numpy() for end in data.graph(graph).edges())
        expected = np.zeros((n, n), bool)
        expected[dst, src] = True
        # The schema is undirected: an edge given in one direction counts in both, except where messages pass along it.
        np.testing.assert_array_equal(maps.adjacency[maps.virtual :, maps.virtual :], expected | expected.T)
        sums = maps.layers[0].sum(-1)
        has_key = np.ones(n + maps.virtual, bool) if name != "gat" else expected.any(1)
        np.testing.assert_allclose(sums[:, has_key], 1, atol=1e-5)
        if name == "gat":
            assert not maps.layers[0][:, ~expected].any()


def test_what_nodes_receive_is_the_virtual_nodes_row_or_the_mean_of_all():
    weights = np.array([[[0.2, 0.3, 0.5], [0.1, 0.9, 0.0], [1.0, 0.0, 0.0]]], np.float32)
    nothing = np.zeros((3, 3), bool)
    with_virtual = AttentionMaps((weights,), nothing, np.zeros((2, 2), np.uint8), 1)
    np.testing.assert_allclose(with_virtual.to_nodes(), [[0.3, 0.5]])
    without = AttentionMaps((weights,), nothing, np.zeros((3, 3), np.uint8), 0)
    np.testing.assert_allclose(without.to_nodes(), [[1.3 / 3, 0.4, 0.5 / 3]], rtol=1e-6)


def test_families_without_attention_are_refused(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "regression"))
    model = build_model(settings_class("gin")(layers=2, hidden_size=8), data.schema)
    with pytest.raises(InputError, match="GIN is a family without attention; accepted: grpe, gat, gt, san, egt"):
        attention_maps(model, data.view, data.store, np.arange(1))


def test_a_summary_is_the_mean_of_the_maps(tmp_path):
    model, data = build("grpe", write_dataset(tmp_path / "tiny", "regression"))
    index = data.valid.index
    summary = summarise_attention(model, data.view, data.store, index)
    assert summary.graphs == len(index)
    np.testing.assert_allclose(summary.share.sum(-1), 1, atol=1e-5)
    to_self, to_virtual, weight, count = [], [], [], 0
    for maps in attention_maps(model, data.view, data.store, index):
        for layer in maps.layers:
            for i in range(1, layer.shape[1]):
                to_self.append(layer[:, i, i].mean())
                to_virtual.append(layer[:, i, 0].mean())
        near = maps.distance == 1
        count += near.sum()
        weight += [layer.mean(0)[1:, 1:][near] for layer in maps.layers]
    nodes = len(to_self) // 2
    assert summary.share[:, 0].mean() == pytest.approx(np.mean(to_self), rel=1e-5)
    assert summary.share[:, -1].mean() == pytest.approx(np.mean(to_virtual), rel=1e-5)
    assert summary.weight[:, 1].mean() == pytest.approx(np.concatenate(weight).mean(), rel=1e-5)
    assert summary.pairs[0] == nodes == summary.pairs[-1] and summary.pairs[1] == count
    assert np.isnan(summary.weight[:, summary.pairs == 0]).all()
    assert len(summary.kinds) == summary.share.shape[1] == DISTANCES + 4


def test_distances_of_a_path_and_two_parts_fall_into_their_kinds(tmp_path):
    path = dgl.graph((list(range(7)) + list(range(1, 8)), list(range(1, 8)) + list(range(7))), num_nodes=9)
    path.ndata["feat"] = torch.zeros(9, 2, dtype=torch.int64)
    path.edata["feat"] = torch.zeros(14, dtype=torch.int64)
    grpe_dgl.data.write(
        tmp_path / "path", [path], np.zeros((1, 1)), {"valid": np.arange(1)}, task=TASKS["regression"],
        node_vocabulary=(5, 5), num_edge_types=3,
    )  # fmt: skip
    model, data = build("grpe", tmp_path / "path")
    summary = summarise_attention(model, data.view, data.store, np.arange(1))
    # Eight nodes in a row and one apart: 2 (8 - d) ordered pairs at distance d, 16 without a path.
    assert summary.pairs.tolist() == [9, 14, 12, 10, 8, 6, 4 + 2, 16, 9]
