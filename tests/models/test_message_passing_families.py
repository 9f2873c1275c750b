"""What every family that passes messages must do, on small data."""

import dgl
import numpy as np
import pytest
import torch
from click.testing import CliRunner

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.families import settings_class
from grpe_dgl.recipe import Recipe
from grpe_dgl_cli.main import main
from tests.training.tiny import write_dataset

SMALL = {"layers": 2, "hidden_size": 12}
MODELS = {
    "gcn": {"name": "gcn", **SMALL},
    "gcn_pe": {"name": "gcn", **SMALL, "encoding": "random_walk:3"},
    "gin": {"name": "gin", **SMALL},
    "gin_pe": {"name": "gin", **SMALL, "encoding": "laplacian:4"},
    "gat": {"name": "gat", **SMALL, "num_heads": 3},
    "gatedgcn": {"name": "gatedgcn", **SMALL},
    "gatedgcn_pe": {"name": "gatedgcn", **SMALL, "edges": False, "encoding": "laplacian:4"},
    "gatedgcn_svd": {"name": "gatedgcn", **SMALL, "encoding": "svd:4"},
    "mpnn": {"name": "mpnn", **SMALL, "towers": 3, "edge_size": 5},
    "pna": {"name": "pna", **SMALL, "towers": 3, "edge_size": 5, "mean_log_degree": 1.1},
    "pna_simple": {"name": "pna", **SMALL, "simple": True, "mean_log_degree": 1.1},
    "ogb_gcn": {"name": "ogb_gcn", **SMALL},
    "ogb_gin": {"name": "ogb_gin", **SMALL},
    "ogb_gcn_vn": {"name": "ogb_gcn", **SMALL, "virtual_node": True},
    "ogb_gin_vn": {"name": "ogb_gin", **SMALL, "virtual_node": True},
}


def recipe_of(model, **training):
    return Recipe.from_dict(
        {
            "dataset": "tiny",
            "model": MODELS[model],
            "training": {"batch_size": 4, "epochs": 3, "learning_rate": 0.01, **training},
        }
    )


def open_dataset(path, settings):
    data = grpe_dgl.data.load(path, view=settings.view)
    prepare_encodings(data.store, settings.view.encodings)
    return data


def with_statistics(model):
    """Return the model in evaluation mode with running statistics and norms that are not those of a new one."""
    generator = torch.Generator().manual_seed(3)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.copy_(torch.randn(module.num_features, generator=generator))
            module.running_var.copy_(torch.rand(module.num_features, generator=generator) + 0.5)
            torch.nn.init.normal_(module.weight, generator=generator)
    return model.double().eval()


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def tiny(request, tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", request.param)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_equals_its_graphs_one_by_one(tiny, name):
    settings = recipe_of(name).model
    data = open_dataset(tiny, settings)
    torch.manual_seed(0)
    model = with_statistics(build_model(settings, data.schema))
    index = [3, 0, 11, 7]
    together = model(data.batch(index).graph)
    alone = torch.cat([model(data.batch([number]).graph) for number in index])
    torch.testing.assert_close(together, alone, rtol=1e-10, atol=1e-12)
    assert together.std() > 1e-8  # far over the tolerance; PNA starts with small weights


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_nodes_and_edges_does_not_matter(tiny, name):
    settings = recipe_of(name).model
    data = open_dataset(tiny, settings)
    torch.manual_seed(0)
    model = with_statistics(build_model(settings, data.schema))
    graph = data.batch([5]).graph
    nodes = torch.randperm(graph.num_nodes())
    shuffled = dgl.reorder_graph(
        graph, node_permute_algo="custom", permute_config={"nodes_perm": nodes}, edge_permute_algo="src",
        store_ids=False,
    )  # fmt: skip
    output, other = model(graph), model(shuffled)
    expected = output if data.task.level == "graph" else output[nodes]
    torch.testing.assert_close(other, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_isolated_nodes_and_graphs_without_edges_give_numbers(tmp_path, name):
    lonely = dgl.graph(([], []), num_nodes=1)
    partly = dgl.graph(([0, 1], [1, 0]), num_nodes=3)
    for graph in (lonely, partly):
        graph.ndata["feat"] = torch.zeros(graph.num_nodes(), 2, dtype=torch.int64)
        graph.edata["feat"] = torch.zeros(graph.num_edges(), dtype=torch.int64)
    splits = {"train": [0, 1], "valid": [2], "test": [3]}
    grpe_dgl.data.write(tmp_path / "d", [lonely, partly] * 2, [0.0, 1.0, 2.0, 3.0], splits, task="regression")
    settings = recipe_of(name).model
    data = open_dataset(tmp_path / "d", settings)
    model = build_model(settings, data.schema).train()
    output = model(data.batch([0, 1]).graph)
    output.sum().backward()
    assert torch.isfinite(output).all()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())
    model(data.batch([0]).graph)  # a single node in training: batch norm has no variance
    assert torch.isfinite(model.eval()(data.batch([0]).graph)).all()


@pytest.mark.parametrize("name", MODELS)
def test_overfits_sixteen_graphs(tmp_path, name):
    path = write_dataset(tmp_path / "tiny", "regression")
    settings = recipe_of(name).override({"model.hidden_size": 24}).model
    data = open_dataset(path, settings)
    torch.manual_seed(0)
    model = build_model(settings, data.schema)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batch = data.batch(np.arange(16))
    target = (batch.label - batch.label.mean()) / batch.label.std()
    losses = []
    for _ in range(600):
        loss = (model(batch.graph) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < 0.02:
            break
    assert losses[-1] < 0.02 < losses[0]


def test_training_computes_the_encodings_and_signs_are_random(tmp_path, monkeypatch):
    write_dataset(tmp_path / "data" / "tiny", "regression")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.yaml").write_text(recipe_of("gatedgcn_pe", epochs=1).to_yaml())
    result = CliRunner().invoke(main, ["train", "r.yaml", "--out", "run"])
    assert result.exit_code == 0, result.output
    assert "computed the encoding laplacian:4" in result.output
    result = CliRunner().invoke(main, ["info", "data/tiny", "--verify"])
    assert "laplacian:4" in result.output and result.exit_code == 0
    model = load_checkpoint("run/best.ckpt").model()
    graph = open_dataset(tmp_path / "data" / "tiny", recipe_of("gatedgcn_pe").model).batch([1, 2]).graph
    assert torch.equal(model.encoding(graph), model.encoding(graph))
    model.train()
    torch.manual_seed(0)
    drawn = [model.encoding(graph) for _ in range(20)]
    assert len({tuple(x.flatten().tolist()) for x in drawn}) > 5
    signs = [(-1.0) ** np.array(list(f"{number:04b}"), float) for number in range(16)]
    possible = [model.encoding.eval()(_scaled(graph, torch.tensor(s, dtype=torch.float32))) for s in signs]
    assert all(any(torch.allclose(x, other, atol=1e-6) for other in possible) for x in drawn)


def _scaled(graph, signs):
    graph = graph.clone()
    graph.ndata["laplacian"] = graph.ndata["laplacian"] * signs
    return graph


def test_settings_are_checked():
    for model, key, value, text in (
        ("gat", "num_heads", 5, "a divisor of model.hidden_size, which is 12"),
        ("gcn", "encoding", "laplace:4", "model.encoding is 'laplace:4'; accepted: KIND:SIZE"),
        ("pna", "mean_log_degree", None, "model.mean_log_degree is None; accepted: a number over 0"),
        ("pna", "towers", 5, "a divisor of model.hidden_size"),
        ("pna_simple", "edge_size", 4, "model.edge_size is 4; accepted: 0 with model.simple"),
        ("ogb_gin", "layers", 0, "model.layers is 0; accepted: 1 or more"),
    ):
        with pytest.raises(InputError, match=text):
            recipe_of(model).override({f"model.{key}": value})
    assert settings_class("gin").PRESETS["500k"]["hidden_size"] == 124


def test_mean_log_degree_is_that_of_the_training_nodes(tiny):
    data = grpe_dgl.data.load(tiny)
    degrees = torch.cat([data.graph(int(number)).in_degrees() for number in data.train.index])
    assert data.mean_log_degree() == pytest.approx(float(torch.log(degrees + 1.0).mean()))
