"""Datasets and checkpoints that version 0.1.0 wrote still open, with the same numbers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import grpe_dgl
import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.training.run import run
from grpe_dgl_cli.main import main

FIXTURES = Path(__file__).parent / "fixtures" / "version_0.1.0"


def test_predictions_are_the_same():
    known = json.loads((FIXTURES / "molecules" / "predictions.json").read_text())
    found = grpe_dgl.load(FIXTURES / "molecules" / "best.ckpt").predict(list(known))
    np.testing.assert_allclose(found[:, 0], list(known.values()), rtol=1e-6)


@pytest.mark.parametrize("name", ["molecules", "cluster"])
def test_evaluates_to_the_same_numbers(name):
    results = json.loads((FIXTURES / name / "results.json").read_text())
    words = ["evaluate", str(FIXTURES / name / "best.ckpt"), "--dataset", str(FIXTURES / name / "dataset"), "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[results["metric"]] == pytest.approx(results["splits"]["test"], rel=1e-6)


def test_the_dataset_verifies_and_has_its_schema():
    data = grpe_dgl.data.load(FIXTURES / "molecules" / "dataset")
    data.store.verify()
    assert (data.schema.edge_columns, data.schema.vocabulary, data.manifest.num_edge_types) == ((5, 6, 2), "ogb", 60)
    assert data.manifest.task == data.task == load_checkpoint(FIXTURES / "molecules" / "best.ckpt").schema.task


def test_an_interrupted_run_is_resumed(tmp_path):
    shutil.copy(FIXTURES / "molecules" / "interrupted.ckpt", tmp_path / "last.ckpt")
    shutil.copy(FIXTURES / "molecules" / "best.ckpt", tmp_path / "best.ckpt")
    saved = load_checkpoint(tmp_path / "last.ckpt")
    data = grpe_dgl.data.load(FIXTURES / "molecules" / "dataset", view=saved.recipe.model.view)
    results = run(saved.recipe, data, tmp_path)
    known = json.loads((FIXTURES / "molecules" / "results.json").read_text())
    assert (results["updates"], results["epochs"]) == (9, 3)
    assert results["splits"].pop("train") > 0  # version 0.1 did not measure it
    assert results["splits"] == pytest.approx(known["splits"], rel=1e-5)
