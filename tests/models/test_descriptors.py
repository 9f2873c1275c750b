"""Descriptors of molecules joined before the head: scaled by the training molecules, stored, predicted, exported."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import grpe_dgl
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.batching.padded import collate_padded
from grpe_dgl.data.batching.slices import Slices
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.descriptors import MORGAN_PLACES, NAMES, descriptors_of_smiles
from grpe_dgl.models.descriptors import Descriptors
from grpe_dgl.views import DESCRIPTORS
from tests.cli.invoke import grpe_in

SMILES = [f"{'C' * (1 + i % 8)}{tail}" for i in range(10) for tail in ("O", "N", "c1ccccc1", "C(=O)O")]
SIZES = ["--set", "model.layers=1", "--set", "model.hidden_size=16", "--set", "model.ffn_size=16"]


def test_the_number_of_descriptors_is_known_without_rdkit():
    assert DESCRIPTORS == {"rdkit": len(NAMES), "rdkit_morgan": len(NAMES) + MORGAN_PLACES}


def test_the_scale_is_that_of_the_training_molecules():
    scale = Descriptors("rdkit")
    values = torch.zeros(500, len(NAMES))
    values[:, :4] = torch.randn(500, 4) * torch.tensor([1.0, 100.0, 0.0, 1.0]) + torch.tensor([0.0, 5.0, 3.0, 0.0])
    values[0, 0], values[:, 3] = 1e9, math.nan  # one that is far off, and one that is always missing
    scale.fit(values)
    assert scale.scale[0] > 0.8 and 80 < 1 / scale.scale[1] < 110 and (scale.scale[2:] == 0).all()
    rows = torch.zeros(2, len(NAMES))
    rows[:, :4] = torch.tensor([[1e9, 5.0 + 2 / float(scale.scale[1]), 7.0, 1.0], [math.nan, math.nan, 3.0, math.nan]])
    z = scale(rows)
    assert z[0, 0] == 4 and abs(z[0, 1] - 2) < 0.2 and (z[0, 2:] == 0).all() and (z[1] == 0).all()


def test_morgan_counts_keep_their_scale():
    scale = Descriptors("rdkit_morgan")
    values = torch.zeros(300, DESCRIPTORS["rdkit_morgan"])
    values[0, len(NAMES)] = math.log(3)  # an environment of one molecule in 300, which its quantiles would drop
    scale.fit(values)
    assert scale(values)[0, len(NAMES)] == values[0, len(NAMES)] and not scale(values)[1].any()


def test_a_share_is_dropped_in_training_alone():
    torch.manual_seed(0)
    scale = Descriptors("rdkit_morgan", dropout=0.25)
    z = scale(torch.ones(200, DESCRIPTORS["rdkit_morgan"]))
    assert 0.23 < (z == 0).float().mean() < 0.27 and z.mean() == pytest.approx(1, abs=0.02)
    assert (scale.eval()(torch.ones(3, DESCRIPTORS["rdkit_morgan"])) == 1).all()


@pytest.fixture(scope="module", params=["rdkit", "rdkit_morgan"])
def trained(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("descriptors")
    (folder / "own.csv").write_text("smiles,size\n" + "".join(f"{each},{len(each)}\n" for each in SMILES))
    grpe_in(folder, "preprocess", "csv", "own.csv", "--target", "size")
    joined = ["--set", f"model.descriptors={request.param}"]
    grpe_in(folder, "train", "property", "--dataset", "own", "--from-scratch", "--epochs", 2, *joined, *SIZES,
            "--out", "run")  # fmt: skip
    return folder


def test_a_model_predicts_from_smiles_what_it_predicts_from_the_dataset(trained):
    saved = load_checkpoint(trained / "run/best.ckpt")
    train = grpe_dgl.data.load(trained / "data/own").train.index
    expected = np.nanmean(descriptors_of_smiles([SMILES[i] for i in train])[:, NAMES.index("MolWt")])
    assert saved.weights["head_descriptors.mean"][NAMES.index("MolWt")].item() == pytest.approx(expected, rel=0.05)
    output = grpe_in(trained, "predict", "run/best.ckpt", "data/own", "--out", "a.csv", "--force")
    assert "40 graphs" in output
    stored = np.genfromtxt(trained / "a.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    predictor = grpe_dgl.load(trained / "run/best.ckpt")
    found = predictor.predict(SMILES)
    np.testing.assert_allclose(found[:, 0], stored["predicted_size"], rtol=1e-4)
    with torch.no_grad():
        predictor.model.head_descriptors.mean += 1.0
    assert not np.allclose(predictor.predict(SMILES), found)  # they are read


def test_padded_batches_have_the_same_descriptors(trained):
    model = load_checkpoint(trained / "run/best.ckpt").model()
    view = load_checkpoint(trained / "run/best.ckpt").recipe.model.view
    _, arrays = read_molecules(SMILES[:5])
    index = np.arange(5)
    padded = collate_padded(arrays, Slices.of(arrays, index), view)
    size = DESCRIPTORS[load_checkpoint(trained / "run/best.ckpt").recipe.model.descriptors]
    assert padded.descriptors.shape == (5, size) and len(padded.to("cpu").tensors()) == 4
    with torch.no_grad():
        torch.testing.assert_close(model(padded), model(collate(arrays, index, view).graph))


def test_graphs_without_smiles_have_none(trained, tmp_path):
    from tests.training.tiny import write_dataset

    write_dataset(tmp_path / "data" / "tiny", "regression")
    grpe_in(tmp_path, "train", "property", "--dataset", "tiny", "--from-scratch", "--epochs", 1, *SIZES, "--out", "run")
    weights = load_checkpoint(tmp_path / "run/last.ckpt").weights
    scale = weights["head_descriptors.scale"]
    assert (scale[: len(NAMES)] == 0).all() and (weights["head_descriptors.mean"] == 0).all()
    assert np.isfinite(json.loads((tmp_path / "run/results.json").read_text())["splits"]["valid"])


@pytest.mark.slow
def test_an_exported_model_takes_them_as_its_fourth_input(trained):
    grpe_in(trained, "export", "run/best.ckpt", "--out", "model")
    inputs = json.loads((trained / "model/model.json").read_text())["inputs"]
    assert [entry["name"] for entry in inputs] == ["nodes", "relation", "mask", "descriptors"]
    assert inputs[3]["columns"] == list(NAMES)
    joined = load_checkpoint(trained / "run/best.ckpt").recipe.model.descriptors
    assert inputs[3].get("morgan") == ({"radius": 2, "size": MORGAN_PLACES} if joined == "rdkit_morgan" else None)
    command = [sys.executable, Path(__file__).parents[2] / "examples/onnx_predict.py", trained / "model", *SMILES[:3]]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [float(line.split(",")[1]) for line in output.splitlines()[1:]]
    np.testing.assert_allclose(found, grpe_dgl.load(trained / "run").predict(SMILES[:3])[:, 0], rtol=1e-4)
