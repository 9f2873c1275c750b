import json

import pytest

from tests.cli.invoke import grpe_in
from tests.small_table import SMALL, frame

SETTINGS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={'null' if value is None else value}")]
WORDS = ("fit", "table.csv", "--smiles", "SMILES", "--target", "size", "--epochs", 2, *SETTINGS)


@pytest.fixture
def folder(tmp_path):
    frame().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def test_one_command_then_predict_with_its_folder(folder):
    output = grpe_in(folder, *WORDS, "--split", "scaffold")
    assert "runs/table/data: 40 graphs" in output and "task inferred from the targets: regression" in output
    assert "best model in runs/table/best.ckpt" in output
    assert json.loads((folder / "runs/table/data/manifest.json").read_text())["settings"]["split"] == "scaffold"
    predicted = grpe_in(folder, "predict", "runs/table", "CCO", "c1ccccc1")
    assert predicted == grpe_in(folder, "predict", "runs/table/best.ckpt", "CCO", "c1ccccc1")
    assert predicted.startswith("smiles,predicted_size,error\nCCO,")


def test_existing_folder_resume_and_stop(folder):
    output = grpe_in(folder, *WORDS, "--max-time", "1s", "--set", "training.epochs=500", "--out", "run")
    assert "--max-time is reached; everything is saved in run" in output
    refused = grpe_in(folder, *WORDS, "--out", "run", code=1)
    assert "run exists already, and resume is not set; --resume continues it, --out names another folder" in refused
    other = grpe_in(folder, *WORDS, "--out", "run", "--resume", code=1)
    assert "run/recipe.yaml was made by another recipe: training.epochs is 500 there" in other
    unfinished = grpe_in(folder, "predict", "run", "CCO", code=1)
    assert "run is a run that is not finished" in unfinished or "without a trained model" in unfinished


def test_several_seeds_are_one_ensemble(folder):
    grpe_in(folder, *WORDS, "--epochs", 1, "--runs", 2, "--seed", 7, "--out", "two")
    lines = grpe_in(folder, "predict", "two", "CCO").splitlines()
    assert lines[0] == "smiles,predicted_size,predicted_size_spread,error"
    assert float(lines[1].split(",")[2]) > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("fit", "table.csv"), 2, "Missing option '--target'"),
        (("fit", "nothing.csv", "--target", "size"), 1, "nothing.csv cannot be read: No such file"),
        (WORDS[:6] + ("--target", "sise"), 1, "has no column 'sise'"),
        ((*WORDS, "--fractions", "1,1,1"), 1, "fractions are 1, 1, 1; accepted"),
        ((*WORDS, "--recipe", "proprety"), 1, "did you mean"),
    ],
)
def test_errors(folder, words, code, message):
    assert message in grpe_in(folder, *words, code=code)
    assert not (folder / "runs").exists()
