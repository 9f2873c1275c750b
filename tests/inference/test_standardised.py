"""A model of standardised molecules predicts standardised molecules, from Python, tables and the command line."""

import csv
import dataclasses
import io
import runpy
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

import grpe_dgl
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.export.contract import contract
from grpe_dgl.inference.ensemble import Ensemble
from tests import trained
from tests.cli.invoke import invoke

GIVEN, STANDARD = ["CC(=O)[O-].[Na+]", "Cl.C[NH3+]"], ["CC(=O)O", "CN"]


@pytest.fixture
def models(tmp_path):
    schema = trained.molecule_schema()
    plain = trained.save(tmp_path / "plain.ckpt", schema=schema)
    standard = dataclasses.replace(schema, standardised_molecules=True)
    return plain, trained.save(tmp_path / "standard.ckpt", schema=standard)


def test_predictions_and_fingerprints(models):
    plain, standard = map(grpe_dgl.load, models)
    np.testing.assert_array_equal(standard.predict(GIVEN), plain.predict(STANDARD))
    np.testing.assert_array_equal(standard.fingerprint(GIVEN), plain.fingerprint(STANDARD))
    assert not np.allclose(plain.predict(GIVEN), plain.predict(STANDARD))
    with pytest.raises(InputError, match="standardises molecules, the other does not"):
        Ensemble([plain, standard])


def test_tables_keep_the_molecules_as_given(models, tmp_path):
    (tmp_path / "t.csv").write_text("smiles\n" + "\n".join(GIVEN) + "\n")
    rows = list(csv.DictReader(io.StringIO(invoke("predict", models[1], tmp_path / "t.csv").stdout)))
    assert [row["smiles"] for row in rows] == GIVEN
    expected = grpe_dgl.load(models[0]).predict(STANDARD)[:, 0]
    np.testing.assert_allclose([float(row["predicted_logS"]) for row in rows], expected, rtol=1e-5)


def test_exported_models_and_the_example_say_and_do_the_same(models):
    pytest.importorskip("onnxruntime")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "onnx_predict.py"))
    for path, expected in zip(models, (GIVEN, STANDARD), strict=True):
        vocabulary = contract(load_checkpoint(path), files={}, opset=None)["vocabulary"]
        assert vocabulary["standardise"] == (expected is STANDARD) == ("Uncharger" in vocabulary["molecules"])
        read = [example["read"](text, True, vocabulary["standardise"]) for text in GIVEN]
        assert [Chem.MolToSmiles(molecule) for molecule in read] == [Chem.CanonSmiles(text) for text in expected]
