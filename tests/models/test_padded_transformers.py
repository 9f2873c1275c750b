"""Transformers beside GRPE on padded batches without a virtual node in row 0: the numbers of DGLGraphs, and export."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import grpe_dgl
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.batching.parts import Division, collate_parts, rows_in_order
from grpe_dgl.export.check import random_batches
from grpe_dgl.export.module import padded, relations_of
from grpe_dgl.training.run import run
from tests.cli.invoke import grpe
from tests.export.test_export import EXAMPLE, SMILES, WITHOUT_US
from tests.models.test_transformers import molecule_checkpoint, open_with_encodings, recipe, settings_of
from tests.training.test_padded_training import assert_same, gradients
from tests.training.tiny import write_dataset

MODELS = ["egt", "egt_virtual", "san", "gt", "gt_without_edges"]


def double_model(model, data):
    settings = settings_of(model, **dict.fromkeys(settings_of(model).CHANGEABLE, 0.0))
    torch.manual_seed(0)
    return build_model(settings, data.schema).double()


def dataset(model, kind, folder):
    simple = model.startswith("gt")  # pairs have no place for self-loops and parallel edges
    return open_with_encodings(write_dataset(folder / "tiny", kind, simple=simple), settings_of(model).view)


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_those_of_the_dgl_graph(model, kind, tmp_path):
    data = dataset(model, kind, tmp_path)
    module = double_model(model, data).eval()
    index = data.train.index[:7]
    parts = collate_parts(data.store, index, data.view, Division(padded=True, most_groups=3)).parts
    assert len(parts) > 1 and any(not part.graph.mask.all() for part in parts)
    outputs = [module(part.graph) for part in parts]
    found = rows_in_order([part.placement for part in parts], outputs, per_node=kind == "multiclass")
    torch.testing.assert_close(found, module(data.batch(index).graph), rtol=0, atol=1e-10)
    (whole,) = collate_parts(data.store, index, data.view, Division(padded=True, most_groups=1)).parts
    vectors = module.fingerprint(whole.graph, 2)
    torch.testing.assert_close(vectors, module.fingerprint(data.batch(index[whole.places]).graph, 2))


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
@pytest.mark.parametrize("model", MODELS)
def test_gradients_in_training_are_those_of_the_dgl_graph(model, kind, tmp_path):
    """In one piece, so that random signs and batch statistics are the same."""
    data = dataset(model, kind, tmp_path)
    module = double_model(model, data).train()
    loss = {"regression": "l1", "multiclass": "weighted_cross_entropy"}[kind]
    training = recipe(model, loss=loss).training
    sizes = data.num_real_nodes(data.train.index)
    index = data.train.index[np.argsort(sizes, kind="stable")]  # the order of a padded batch, which signs depend on
    both = []
    for division in (Division(), Division(padded=True, most_groups=1)):
        torch.manual_seed(5)
        both.append(gradients(module, data, index, training, division))
    assert_same(both[1], both[0])


def test_padding_that_takes_part(tmp_path):
    settings = settings_of("egt_virtual", see_padding=True)
    for kind in ("regression", "multiclass"):
        data = open_with_encodings(write_dataset(tmp_path / kind, kind), settings.view)
        module = build_model(settings, data.schema).double().eval()
        (part,) = collate_parts(data.store, np.arange(5), data.view, Division(padded=True, most_groups=1)).parts
        found = rows_in_order([part.placement], [module(part.graph)], per_node=kind == "multiclass")
        torch.testing.assert_close(found, module(data.batch(np.arange(5)).graph), rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
def test_trains_on_padded_batches(model, tmp_path):
    data = dataset(model, "multiclass", tmp_path)
    results = run(recipe(model, epochs=2), data, tmp_path / "run", padded=True)
    assert results["updates"] > 0 and np.isfinite(list(results["splits"].values())).all()


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
@pytest.mark.parametrize("model", MODELS)
def test_a_step_off_the_cpu(model, kind, tmp_path):
    """The meta device stands in for a GPU: DGL, numbers on the host and a mixture of devices fail on it."""
    data = dataset(model, kind, tmp_path)
    with torch.device("meta"):
        module = build_model(settings_of(model), data.schema).train()
    (part,) = collate_parts(data.store, np.arange(5), data.view, Division(padded=True, most_groups=1)).parts
    outputs = module(part.graph.to("meta"))
    assert outputs.shape[:-1] == (part.graph.mask.shape if kind == "multiclass" else (5,))
    outputs.sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters() if parameter.requires_grad)


RULES = {"egt_virtual": "singular", "san": "eigenvectors", "gt": "eigenvectors", "gt_without_edges": "eigenvectors"}


@pytest.mark.slow  # tracing a model takes seconds
@pytest.mark.parametrize("model", RULES)
def test_exports_and_the_example_computes_the_encodings(model, tmp_path):
    pytest.importorskip("onnxruntime")
    checkpoint = molecule_checkpoint(model, tmp_path / "m.ckpt")
    grpe("export", checkpoint, "--format", "onnx", "--format", "pt2", "--out", tmp_path / "exported")
    content = json.loads((tmp_path / "exported" / "model.json").read_text())
    assert content["virtual_node"] is False
    predictor = grpe_dgl.load(checkpoint)
    view = predictor.checkpoint.recipe.model.view
    kinds = [name.split(":")[0] for name in view.encodings]
    names = [entry["name"] for entry in content["inputs"]]
    assert names[:4] == ["nodes", "relation", "mask", *kinds] and RULES[model] in content["inputs"][3]["meaning"]
    assert names[4:] == (["spectrum_values"] if model == "san" else [])
    assert ("parallel edges" in content["relations"]["edge"]) == model.startswith("gt")

    program = torch.export.load(tmp_path / "exported" / "model.pt2").module()
    for batch in random_batches(predictor.checkpoint, seed=7):
        inputs = padded(batch.graph, relations_of(view, predictor.schema))
        found = program(*inputs).detach().numpy()
        np.testing.assert_allclose(found, predictor.outputs(batch), rtol=1e-4, atol=1e-5)

    smiles = [text for text in SMILES if text != "nonsense"]
    command = [sys.executable, "-c", WITHOUT_US, str(EXAMPLE), str(tmp_path / "exported"), *smiles]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    found = list(csv.DictReader(io.StringIO(text)))
    for row, (expected,) in zip(found, predictor.predict(smiles), strict=True):
        assert float(row["predicted_logS"]) == pytest.approx(float(expected), rel=1e-5), row["smiles"]
