import csv

import numpy as np
import pytest
from click.testing import CliRunner

import grpe_dgl
from grpe_dgl_cli.main import main
from tests import trained

SMILES = ["CCO", "broken(", "c1ccccc1"]


def fingerprint(*arguments):
    return CliRunner().invoke(main, ["fingerprint", *map(str, arguments)])


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


@pytest.fixture
def expected(model):
    known = grpe_dgl.load(model).fingerprint(["CCO", "c1ccccc1"], layers=3)
    return np.stack([known[0], np.full_like(known[0], np.nan), known[1]])


def test_npy(model, tmp_path, expected):
    result = fingerprint(model, *SMILES, "--out", tmp_path / "x.npy")
    assert result.exit_code == 0, result.output
    assert "3 molecules, 1 without a fingerprint, 48 numbers each" in result.output
    assert "row 1: 'broken(' cannot be read" in result.output
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), expected, rtol=1e-4, atol=1e-6)


def test_csv(model, tmp_path, expected):
    (tmp_path / "t.csv").write_text("smiles,id\n" + "".join(f"{text},{i}\n" for i, text in enumerate(SMILES)))
    result = fingerprint(model, tmp_path / "t.csv", "--layers", 1, "--out", tmp_path / "x.csv")
    assert result.exit_code == 0, result.output
    header, *rows = csv.reader((tmp_path / "x.csv").read_text().splitlines())
    assert header == ["smiles", "id", *(f"fingerprint_{i}" for i in range(16)), "error"]
    assert rows[1][2] == "" and "cannot be read" in rows[1][-1]
    np.testing.assert_allclose(np.array(rows[2][2:-1], float), expected[2, -16:], rtol=1e-4, atol=1e-6)


def test_parquet(model, tmp_path, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert fingerprint(model, *SMILES, "--out", tmp_path / "x.parquet").exit_code == 0
    columns = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert columns["smiles"] == SMILES and columns["fingerprint_0"][1] is None
    assert columns["fingerprint_47"][2] == pytest.approx(float(expected[2, 47]), rel=1e-4)


def test_errors(model, tmp_path):
    result = fingerprint(model, "CCO", "--layers", 4, "--out", tmp_path / "x.npy")
    assert result.exit_code == 1 and "layers is 4; accepted: 1..3" in result.output
    result = fingerprint(model, model, "CCO", "--out", tmp_path / "x.npy")
    assert result.exit_code == 2 and "2 checkpoints; accepted: one" in result.output
    result = fingerprint(model, "CCO", "--out", tmp_path / "x.txt")
    assert result.exit_code == 2 and not (tmp_path / "x.txt").exists()
