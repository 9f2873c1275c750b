"""What every graph transformer beside GRPE must do: learn, treat graphs of a batch apart, resume, predict, transfer."""

import dataclasses
import json

import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data import write
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.families import settings_class
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.stop_request import Stopped, StopRequest
from tests import trained
from tests.cli.invoke import grpe
from tests.training.tiny import TASKS, write_dataset

MODELS = {
    "gt": {"layers": 2, "hidden_size": 16, "num_heads": 2, "laplacian_size": 3},
    "gt_without_edges": {
        "layers": 2, "hidden_size": 16, "num_heads": 2, "laplacian_size": 3, "edge_features": False,
    },
    "san": {
        "layers": 2, "hidden_size": 16, "num_heads": 2, "eigenvectors": 4, "encoding_size": 4, "encoding_heads": 2,
        "encoding_ffn": 11, "random_signs": True,
    },
    "egt": {"layers": 2, "hidden_size": 16, "num_heads": 2, "edge_size": 6, "svd_size": 3, "random_mask": 0.1},
    "egt_virtual": {
        "layers": 2, "hidden_size": 16, "num_heads": 2, "edge_size": 6, "svd_size": 3, "virtual_nodes": 2,
        "distances": "exact", "scale_degree": True, "attention_dropout": 0.1,
    },
    "graphormer": {"layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16, "path_edges": 3},
}  # fmt: skip
SMALL = {"batch_size": 4, "epochs": 3, "learning_rate": 0.01}


def model_section(model):
    return {"name": model.split("_")[0], **MODELS[model]}


def settings_of(model, **changes):
    return dataclasses.replace(settings_class(model.split("_")[0])(**MODELS[model]), **changes)


def recipe(model, **training):
    return Recipe.from_dict({"dataset": "tiny", "model": model_section(model), "training": {**SMALL, **training}})


def open_with_encodings(folder, view):
    """Open a dataset, after its encodings were computed."""
    prepare_encodings(Store(folder), view.encodings)
    return grpe_dgl.data.load(folder, view=view)


@pytest.fixture(params=MODELS)
def model(request):
    return request.param


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_a_batch_gives_what_its_graphs_give_one_by_one(model, kind, tmp_path):
    settings = settings_of(model)
    data = open_with_encodings(write_dataset(tmp_path / "tiny", kind), settings.view)
    torch.manual_seed(0)
    module = build_model(settings, data.schema).double().eval()
    with torch.no_grad():
        together = module(data.batch(np.arange(9)).graph)
        apart = torch.cat([module(data.batch([g]).graph) for g in range(9)])
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-10)
    assert together.std() > 1e-4


def renumbered(graph, order):
    """Return the graph with node order[i] called i."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    src, dst = graph.edges(order="eid")
    other = dgl.graph((place[src], place[dst]), num_nodes=graph.num_nodes())
    for name, data in graph.ndata.items():
        other.ndata[name] = data[order]
    other.edata["feat"] = graph.edata["feat"]
    return other


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_the_numbering_of_nodes_does_not_matter(model, kind, tmp_path):
    """On trees, where shortest paths are unique; encodings are permuted with the nodes."""
    rng = np.random.default_rng(3)
    settings = settings_of(model)
    graphs, orders = [], []
    for n in (6, 9, 4):
        parent = np.array([rng.integers(0, i) for i in range(1, n)])
        graph = dgl.graph((np.concatenate([parent, np.arange(1, n)]), np.concatenate([np.arange(1, n), parent])))
        graph.ndata["feat"] = torch.from_numpy(rng.integers(0, 5, (n, 2)))
        graph.edata["feat"] = torch.from_numpy(np.tile(rng.integers(0, 3, n - 1), 2))
        if kind == "multiclass":
            graph.ndata["label"] = torch.zeros(n, dtype=torch.int64)
        graphs.append(graph)
        orders.append(torch.from_numpy(rng.permutation(n)))
    both = []
    for name, some in (("a", graphs), ("b", [renumbered(*pair) for pair in zip(graphs, orders, strict=True)])):
        write(
            tmp_path / name,
            some,
            np.zeros((3, 1)) if kind == "regression" else None,
            {"train": np.arange(3)},
            task=TASKS[kind],
            node_vocabulary=(5, 5),
            num_edge_types=3,
        )
        both.append(open_with_encodings(tmp_path / name, settings.view))
    torch.manual_seed(0)
    module = build_model(settings, both[0].schema).double().eval()
    first, second = (data.batch(np.arange(3)).graph for data in both)
    virtual = int(settings.view.virtual_node)
    offsets = np.cumsum([0, *(len(order) + virtual for order in orders)])
    # Signs, and vectors of equal eigenvalues, are not fixed by the graph: take those of the first.
    for key in [key for key in second.ndata if key not in ("feat", "virtual")]:
        for at, order in zip(offsets[:-1], orders, strict=True):
            second.ndata[key][at : at + len(order)] = first.ndata[key][at + order]
    with torch.no_grad():
        ours, theirs = module(first), module(second)
    if kind == "multiclass":
        sizes = [len(order) for order in orders]
        ours = torch.cat([part[order] for part, order in zip(ours.split(sizes), orders, strict=True)])
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def test_one_step_lowers_the_loss_and_every_parameter_that_counts_has_a_gradient(model, tmp_path):
    settings = settings_of(model, **dict.fromkeys(settings_of(model).CHANGEABLE, 0.0))
    data = open_with_encodings(write_dataset(tmp_path / "tiny", "regression"), settings.view)
    torch.manual_seed(0)
    module = build_model(settings, data.schema).eval()
    batch = data.batch(np.arange(20))
    target = (batch.label - 180) / 40
    before = (module(batch.graph) - target).square().mean()
    before.backward()
    # A parameter without a gradient would stop training with several processes.
    assert all((parameter.grad is not None) == parameter.requires_grad for parameter in module.parameters())
    frozen = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    assert all(name.startswith("layers.1.edge_update") for name in frozen) and (not frozen or model == "gt")
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.grad is not None:
                parameter -= 1e-3 * parameter.grad
        assert (module(batch.graph) - target).square().mean() < before


def test_overfits_sixteen_graphs(model, tmp_path):
    changes = dict.fromkeys(settings_of(model).CHANGEABLE, 0.0)
    settings = settings_of(model, **{**changes, "hidden_size": 32})
    data = open_with_encodings(write_dataset(tmp_path / "tiny", "regression"), settings.view)
    batch = data.batch(np.arange(16))
    target = torch.randn(16, 1, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    module = build_model(settings, data.schema)
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    for _ in range(400):
        loss = (module(batch.graph) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.05:
            break
    assert loss.item() < 0.05


def test_a_task_of_nodes_resumes_bit_for_bit_and_evaluates(model, tmp_path, monkeypatch):
    """For tasks of graphs, see `tests.models.test_every_family`."""
    folder = write_dataset(tmp_path / "data" / "tiny", "multiclass")
    data = open_with_encodings(folder, recipe(model).model.view)
    whole = run(recipe(model), data, tmp_path / "whole")
    stop = StopRequest()

    def interrupt(update, updates, loss, rate):
        if update == 7:
            stop.signal = 2

    with pytest.raises(Stopped):
        run(recipe(model), data, tmp_path / "cut", stop=stop, callbacks=Callbacks(step=interrupt))
    resumed = run(recipe(model), data, tmp_path / "cut")
    assert resumed["splits"] == whole["splits"] and resumed["updates"] == 15
    ours, theirs = (load_checkpoint(tmp_path / name / "last.ckpt").weights for name in ("whole", "cut"))
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)

    monkeypatch.chdir(tmp_path)
    result = json.loads(grpe("evaluate", "whole/best.ckpt", "--split", "test", "--json").stdout)
    assert result[whole["metric"]] == pytest.approx(whole["splits"]["test"])
    assert len(grpe("predict", "whole/best.ckpt", folder, "--split", "test").stdout.splitlines()) > 4


def molecule_checkpoint(model, path):
    schema = trained.molecule_schema()
    made = Recipe.from_dict({"dataset": "own", "model": model_section(model), "training": SMALL})
    torch.manual_seed(0)
    module = build_model(made.model, schema)
    Checkpoint(recipe=made, schema=schema, weights=module.state_dict(), metrics={"epoch": 1}).save(path)
    return path


def test_settings_are_checked(model):
    for change, message in (
        ({"layers": 0}, "model.layers is 0; accepted: 1 or more"),
        ({"num_heads": 3}, "model.num_heads is 3; accepted: a divisor of model.hidden_size, which is 16"),
        ({settings_of(model).CHANGEABLE[0]: 1.0}, "accepted: 0 to below 1"),
    ):
        with pytest.raises(InputError, match=message):
            settings_of(model, **change)
    with pytest.raises(InputError, match="model.layers is 2 in x, 3 was asked for; accepted: the same"):
        settings_of(model, layers=3).require_transfer_from(settings_of(model), what="x")


def test_counts_parameters_without_building(model):
    for schema in (trained.molecule_schema(), trained.molecule_schema(trained.BINARY)):
        settings = settings_of(model)
        built = sum(parameter.numel() for parameter in build_model(settings, schema).parameters())
        assert settings.count_parameters(schema) == built
