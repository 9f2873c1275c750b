"""A small version of the commands that made the shipped model."""

import json

import pytest

from grpe_dgl.checkpoint.file import load_checkpoint
from tests.cli.invoke import grpe, grpe_in

SMILES = [f"{'C' * (1 + i % 9)}{tail}" for i in range(16) for tail in ("O", "N", "c1ccccc1", "C(=O)O")]
SMALL = ["--set", "pretraining.valid=0.1", "--set", "model.layers=2", "--set", "model.hidden_size=16",
         "--set", "model.ffn_size=16", "--workers", 1, "--epochs", 2, "--batch-size", 16]  # fmt: skip


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrain")
    (folder / "molecules.csv").write_text("smiles\n" + "".join(f"{smiles}\n" for smiles in SMILES))
    output = grpe_in(folder, "pretrain", "molecules.csv", "--out", "small.ckpt", *SMALL)
    return folder, output


def test_the_checkpoint_has_the_encoder_its_scaling_and_what_it_has_seen(pretrained):
    folder, output = pretrained
    assert "RDKit descriptors are the targets" in output and "left out, as nearly all" in output
    assert "warm-up: 0 updates instead of" in output
    saved = load_checkpoint(folder / "small.ckpt")
    targets = saved.schema.task.targets
    assert saved.training is None and saved.recipe.pretraining.targets == "rdkit" and "MolLogP" in targets
    assert len(saved.schema.target_scale[0]) == len(targets) == len(saved.provenance["limits"])
    low, high = saved.provenance["limits"]["MolLogP"]
    assert low < high and saved.provenance["settings"]["quantile"] == 0.005
    assert set(saved.coverage.elements) == {6, 7, 8} and saved.coverage.most_nodes == 15
    assert list(json.loads((folder / "small_run/run/results.json").read_text())["splits"]) == ["valid"]
    assert "trained on 57 molecules of up to 15 atoms: C, N, O" in output


def test_a_stopped_run_continues_to_the_same_model(pretrained):
    folder, _ = pretrained
    words = ["pretrain", "molecules.csv", "--out", "again.ckpt", *SMALL]
    stopped = grpe_in(folder, *words, "--max-time", "0.001s")
    assert "--max-time is reached" in stopped and not (folder / "again.ckpt").exists()
    grpe_in(folder, *words, "--resume")
    first, again = load_checkpoint(folder / "small.ckpt"), load_checkpoint(folder / "again.ckpt")
    assert all((tensor == again.weights[name]).all() for name, tensor in first.weights.items())


def test_the_encoder_is_fine_tuned_and_gives_fingerprints(pretrained):
    folder, _ = pretrained
    rows = "".join(f"{smiles},{len(smiles)}\n" for smiles in SMILES)
    (folder / "own.csv").write_text("smiles,size\n" + rows)
    grpe_in(folder, "preprocess", "csv", "own.csv", "--target", "size")
    output = grpe_in(folder, "finetune", "--from", "small.ckpt", "data/own", "--epochs", 1, "--out", "tuned")
    assert "transferred from small.ckpt (small)" in output and "new: head (128, 1 wide)" in output
    assert "64 molecules, 32 numbers each" in grpe_in(
        folder, "fingerprint", "small.ckpt", "own.csv", "--layers", 2, "--out", "vectors.npy"
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nothing.csv", "--out", "a.ckpt"], 1, "nothing.csv cannot be read"),
        (["molecules.csv", "--out", "a.pt"], 2, "accepted: a name that ends in .ckpt"),
        (["molecules.csv", "--out", "small.ckpt"], 1, "small.ckpt exists already; --force overwrites it"),
        (["molecules.csv", "--out", "a.ckpt", "--smiles", "SMI"], 1, "has no column 'SMI'"),
        (["molecules.csv", "--out", "a.ckpt", "--recipe", "property"], 1, "the recipe has no section pretraining"),
        (["molecules.csv", "--out", "a.ckpt", "--set", "pretraining.quantile=0.6"], 1, "accepted: 0 to below 0.5"),
        (["molecules.csv", "--out", "a.ckpt", "--set", "pretraining.targets=morgan"], 1, "accepted: rdkit"),
        (["molecules.csv"], 2, "Missing option '--out'"),
    ],
)
def test_wrong_usage(pretrained, words, code, message):
    result = grpe("pretrain", *words, folder=pretrained[0], code=code)
    assert message in result.output
