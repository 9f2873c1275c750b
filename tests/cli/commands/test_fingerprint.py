import csv

import numpy as np
import pytest

import grpe_dgl
from tests import trained
from tests.cli.invoke import grpe

SMILES = ["CCO", "broken(", "c1ccccc1"]


def fingerprint(*arguments, code=0):
    return grpe("fingerprint", *arguments, code=code)


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


@pytest.fixture
def expected(model):
    known = grpe_dgl.load(model).fingerprint(["CCO", "c1ccccc1"], layers=3)
    return np.stack([known[0], np.full_like(known[0], np.nan), known[1]])


def test_npy(model, tmp_path, expected):
    result = fingerprint(model, *SMILES, "--out", tmp_path / "x.npy")
    assert "3 molecules, 1 without a fingerprint, 48 numbers each" in result.output
    assert "row 1: 'broken(' cannot be read" in result.output
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), expected, rtol=1e-4, atol=1e-6)


def test_csv(model, tmp_path, expected):
    (tmp_path / "t.csv").write_text("smiles,id\n" + "".join(f"{text},{i}\n" for i, text in enumerate(SMILES)))
    fingerprint(model, tmp_path / "t.csv", "--layers", 1, "--out", tmp_path / "x.csv")
    header, *rows = csv.reader((tmp_path / "x.csv").read_text().splitlines())
    assert header == ["smiles", "id", *(f"fingerprint_{i}" for i in range(16)), "error"]
    assert rows[1][2] == "" and "cannot be read" in rows[1][-1]
    np.testing.assert_allclose(np.array(rows[2][2:-1], float), expected[2, -16:], rtol=1e-4, atol=1e-6)


def test_parquet(model, tmp_path, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    fingerprint(model, *SMILES, "--out", tmp_path / "x.parquet")
    columns = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert columns["smiles"] == SMILES and columns["fingerprint_0"][1] is None
    assert columns["fingerprint_47"][2] == pytest.approx(float(expected[2, 47]), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}", "CCO", "--layers", 4], 1, "layers is 4; accepted: 1..3"),
        (["{model}", "{model}", "CCO"], 2, "2 checkpoints; accepted: one"),
        (["{model}", "CCO", "--smiles", "s"], 2, "--smiles goes with a table"),
        (["{model}", "CCO", "--split", "test"], 2, "--split goes with a processed dataset"),
        (["{model}"], 2, "no input; give a table"),
        (["none.ckpt", "CCO"], 1, "none.ckpt cannot be read: No such file"),
    ],
)
def test_errors(model, tmp_path, arguments, code, message):
    words = [str(word).format(model=model) for word in arguments]
    assert message in fingerprint(*words, "--out", tmp_path / "x.npy", code=code).output
    assert not (tmp_path / "x.npy").exists()


def test_errors_of_out(model, tmp_path):
    assert "accepted: a name that ends in" in fingerprint(model, "CCO", "--out", tmp_path / "x.txt", code=2).output
    assert "Missing option '--out'" in fingerprint(model, "CCO", code=2).output
    (tmp_path / "x.npy").write_text("precious")
    assert "--force overwrites it" in fingerprint(model, "CCO", "--out", tmp_path / "x.npy", code=1).output
    fingerprint(model, "CCO", "--out", tmp_path / "x.npy", "--force")
    assert np.load(tmp_path / "x.npy").shape == (1, 48)


def test_only_the_first_reasons_are_printed(model, tmp_path):
    result = fingerprint(model, *["broken("] * 12, "CCO", "--out", tmp_path / "x.npy")
    assert "13 molecules, 12 without a fingerprint" in result.output
    assert result.output.count("cannot be read") == 10 and result.output.endswith("  and 2 more\n")
