"""The shipped models: loaded by name everywhere, small, and described."""

from pathlib import Path

import numpy as np
import pytest
import torch

import grpe_dgl
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.checkpoint.start import choose_start
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.pretrained import is_shipped, model_file, shipped_models
from grpe_dgl.recipe import load_recipe
from tests.cli.invoke import grpe_in
from tests.training.tiny import write_dataset

SMILES = [f"{'C' * (1 + i % 8)}{tail}" for i in range(5) for tail in ("O", "N", "c1ccccc1", "C(=O)O")]


def test_base_is_small_and_made_by_its_recipe():
    assert shipped_models() == ["base"]
    file = model_file("base")
    assert file.stat().st_size <= 6_000_000 and set(torch.load(file, weights_only=True)) >= {"weights", "coverage"}
    saved = load_checkpoint("base")
    shipped = load_recipe("pretrain")
    assert (saved.recipe.model, saved.recipe.pretraining) == (shipped.model, shipped.pretraining)
    assert saved.recipe.training == shipped.training and saved.training is None
    assert saved.recipe.model.layers == load_recipe("property").model.layers
    card = (file.parent / "MODEL_CARD.md").read_text(encoding="utf-8")
    count = sum(tensor.numel() for tensor in saved.weights.values())
    for figure in (
        f"{count:,} parameters",
        f"{saved.coverage.molecules:,}",
        f"{len(saved.schema.task.targets)} of RDKit",
    ):
        assert figure in card
    assert f"up to {saved.coverage.most_nodes} heavy atoms" in card and f"{saved.metrics['valid_r2']:.3f}" in card


def test_it_predicts_the_descriptors_of_a_molecule_it_may_not_have_seen():
    predictor = grpe_dgl.load("base")
    row = dict(
        zip(predictor.schema.task.targets, predictor.predict(["CC(C)Cc1ccc(cc1)C(C)C(=O)NCC#N"])[0], strict=True)
    )
    assert row["MolWt"] == pytest.approx(244.3, abs=12) and row["NumHDonors"] == pytest.approx(1, abs=0.3)
    assert row["MolLogP"] == pytest.approx(2.6, abs=0.6)


def test_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_shipped("base") and model_file("runs/base") == Path("runs/base")
    with pytest.raises(
        InputError, match=r"bse: there is no such file and no shipped model .*did you mean base.*or base"
    ):
        model_file("bse")
    (tmp_path / "base").write_text("a file of that name is taken instead")
    assert not is_shipped("base") and model_file("base") == Path("base")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shipped")
    rows = [*SMILES, "CCI", "C" * 80]
    (folder / "own.csv").write_text("smiles,size\n" + "".join(f"{each},{len(each)}\n" for each in rows))
    grpe_in(folder, "preprocess", "csv", "own.csv", "--target", "size")
    write_dataset(folder / "data" / "tiny", "regression")
    return folder


def test_commands_take_its_name(folder):
    assert "247,600 molecules" in grpe_in(folder, "info", "base")
    assert "22 molecules, 256 numbers each" in grpe_in(
        folder, "fingerprint", "base", "own.csv", "--layers", 2, "--out", "vectors.npy"
    )
    assert np.isfinite(np.load(folder / "vectors.npy")).all()
    assert "shipped models: base" in grpe_in(folder, "info", "bas", code=1)
    assert "no shipped model of that name" in grpe_in(folder, "predict", "bas", "own.csv", code=1)
    assert "`--from base` starts from a shipped model" in grpe_in(folder, "finetune", "--from", "b", "own", code=1)


def test_property_starts_from_it_and_names_what_it_has_not_seen(folder):
    output = grpe_in(folder, "train", "property", "--dataset", "own", "--epochs", 1, "--out", "run")
    assert "starts from the shipped model base; --from-scratch starts from random weights" in output
    assert "base has not seen all of this data's elements: I (1 molecule)" in output
    assert "base has not seen all of this data's sizes: up to 80 atoms" in output
    saved = load_checkpoint(folder / "run/last.ckpt")
    assert saved.provenance["started_from"] == saved.recipe.start_from == "base"
    output = grpe_in(folder, "train", "property", "--dataset", "own", "--epochs", 1, "--out", "new", "--from-scratch")
    assert "base" not in output and load_checkpoint(folder / "new/last.ckpt").provenance == {}


def test_weights_are_taken_where_they_fit(folder):
    store, recipe = Store(folder / "data/own"), load_recipe("property")
    start = choose_start(recipe, store)
    model = grpe_dgl.checkpoint.build.build_model(recipe.model, store.schema)
    start.weights(model)
    torch.testing.assert_close(model.state_dict()["virtual_node"], load_checkpoint("base").weights["virtual_node"])
    smaller = choose_start(recipe.override({"model.layers": 2}), store)
    assert "model.layers is 6" in smaller.weights(model)["from_scratch"]
    assert smaller.notes[0].startswith("starts from scratch, not from base: model.layers is 6 in base, 2 was asked")
    other = choose_start(recipe, Store(folder / "data/tiny"))
    assert "vocabulary is 'ogb' for the model" in other.notes[0]
