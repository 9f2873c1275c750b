"""Every shipped recipe, and each of its variants, takes a step on tiny data."""

import dataclasses

import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.training.run import run
from grpe_dgl.training.stop_request import Stopped
from grpe_dgl.workflows.plan import plan
from tests.training.test_run import Stop
from tests.training.tiny import TASKS, write_dataset

KIND_OF_LOSS = {
    "l1": "regression",
    "huber": "regression",
    "bce": "binary",
    "weighted_cross_entropy": "multiclass",
    None: "regression",
}
SMALL = {"model.layers": 2, "model.hidden_size": 64, "model.ffn_size": 16, "training.batch_size": 4, "training.runs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for kind in ("regression", "binary", "multiclass"):
        write_dataset(folder / kind, kind)
    return folder


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if not name.startswith("table_")])
def test_takes_a_step(name, folder, tmp_path):
    recipe = load_recipe(name)
    length = {"training.updates": 50} if recipe.training.updates else {}
    length |= {"training.warmup_updates": 5} if recipe.training.warmup_updates else {}
    for planned in plan(recipe.override({**SMALL, **length}), tmp_path):
        path = folder / KIND_OF_LOSS[recipe.training.loss]
        data = grpe_dgl.data.load(path, view=planned.recipe.model.view)
        prepare_encodings(data.store, data.view.encodings)
        with pytest.raises(Stopped):
            run(planned.recipe, data, planned.folder, stop=Stop(1))
        assert load_checkpoint(planned.folder / "last.ckpt").training["update"] == 1


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if name.startswith("table_")])
def test_every_row_of_a_table_takes_a_step(name, folder, tmp_path):
    recipe = load_recipe(name)
    for variant in recipe.variants:
        chosen = small(recipe.variant(variant))
        path = folder / KIND_OF_LOSS[recipe.training.loss]
        data = grpe_dgl.data.load(path, view=chosen.model.view)
        prepare_encodings(data.store, data.view.encodings)
        with pytest.raises(Stopped):
            run(chosen, data, tmp_path / variant, stop=Stop(1))
        weights = load_checkpoint(tmp_path / variant / "last.ckpt").weights
        assert all(tensor.isfinite().all() for tensor in weights.values())


def small(chosen):
    """Return the recipe of one row with a model of two narrow layers."""
    sizes = {"layers": 2, "hidden_size": 20 if chosen.model.NAME in ("pna", "mpnn") else 16}
    sizes |= {"num_heads": 2, "ffn_size": 16, "components": 2, "head_sizes": [8], "head_dropout": [0.1]}
    sizes |= {"encoding_size": 4, "encoding_heads": 2, "encoding_ffn": 8, "edge_size": 4}
    sizes |= {"tables": "ogb"}  # of Graphormer: the tiny data has two node columns
    fields = {field.name for field in dataclasses.fields(chosen.model) if getattr(chosen.model, field.name)}
    own = {key: value for key, value in sizes.items() if key in fields}
    changes = {f"model.{key}": value for key, value in own.items()}
    return chosen.override({**changes, "training.batch_size": 4, "training.runs": 1})


@pytest.mark.parametrize("name", ["table_zinc", "table_molhiv", "table_molpcba"])
def test_graphs_without_edges(name, tmp_path):
    graphs = []
    for nodes in (1, 2, 1, 3):
        graph = dgl.graph(([], []), num_nodes=nodes)
        graph.ndata["feat"] = torch.zeros(nodes, 1, dtype=torch.int64)
        graph.edata["feat"] = torch.zeros(0, dtype=torch.int64)
        graphs.append(graph)
    task = dataclasses.replace(TASKS["regression"], standardise=False)
    splits = {"train": np.arange(4), "valid": np.arange(0), "test": np.arange(0)}
    path = tmp_path / "data"
    grpe_dgl.data.write(path, graphs, np.ones((4, 1)), splits, task=task, node_vocabulary=(5,), num_edge_types=3)
    for variant in load_recipe(name).variants:
        chosen = small(load_recipe(name).variant(variant))
        data = grpe_dgl.data.load(path, view=chosen.model.view)
        prepare_encodings(data.store, data.view.encodings)
        model = build_model(chosen.model, data.schema)
        (batch,) = data.train.batches(batch_size=4)
        for training in (True, False):
            outputs = model.train(training)(batch.graph)
            outputs.square().sum().backward()
            assert outputs.isfinite().all(), variant
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None), variant
