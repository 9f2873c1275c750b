import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from grpe_dgl.data.store.store import Store
from tests.cli.invoke import invoke

ROWS = "".join(f"{'C' * (i % 7 + 1)}O,{i / 2}\n" for i in range(40))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("smiles,logS\n" + ROWS)
    return functools.partial(invoke, "preprocess", "csv")


def test_help_names_every_option():
    result = invoke("preprocess", "csv", "--help")
    assert result.exit_code == 0
    for option in (
        "--smiles",
        "--target",
        "--task",
        "--split-column",
        "--fractions",
        "--max-nodes",
        "--strict",
        "--name",
    ):
        assert option in result.stdout
    assert "csv" in invoke("preprocess", "--help").stdout


def test_says_what_was_made(run):
    Path("t.csv").write_text("smiles,logS\n" + ROWS + "C(,1\n" + "C" * 20 + ",2\n")
    result = run("t.csv", "--target", "logS", "--max-nodes", "10")
    assert result.exit_code == 0
    first, *others = result.stdout.splitlines()
    assert first.startswith("data/t: 40 graphs (train 32, valid 4, test 4) in ")
    assert others[0] == "2 of 42 rows were skipped: data/t/skipped.csv"
    assert others[1] == "task inferred from the targets: regression"
    assert others[2] == "5 molecules occur in more than one split (same canonical SMILES)"
    manifest = Store("data/t").manifest
    assert others[3].startswith("logS: a model that always predicts the training mean, ")
    assert others[4].startswith("7 molecules occur more than once with different labels (up to ")
    assert others[5:] == [
        f"logS: standardised for training, mean {manifest.schema.target_mean[0]:.4g}, "
        f"deviation {manifest.schema.target_deviation[0]:.4g} (train)"
    ]
    assert Path("data/t/skipped.csv").read_text().splitlines() == [
        "row,reason",
        "40,line 42: 'C(' cannot be read: it is not a SMILES",
        "41,line 43: the molecule has 20 atoms; max_nodes is 10",
    ]


def test_again_and_with_other_settings(run):
    assert run("t.csv", "--target", "logS").exit_code == 0
    assert "exists already" in run("t.csv", "--target", "logS").stdout
    other = run("t.csv", "--target", "logS", "--seed", "1")
    assert (other.exit_code, "seed is 0 there, 1 was asked for" in other.stderr) == (1, True)
    assert run("t.csv", "--target", "logS", "--seed", "1", "--name", "second").exit_code == 0
    Path("t.csv").write_text("smiles,logS\n" + ROWS.replace("CO,0.0", "CN,0.0"))
    assert "checksum is " in run("t.csv", "--target", "logS").stderr


def test_strict_stops_at_the_first(run):
    Path("t.csv").write_text("smiles,logS\n" + ROWS + "C(,1\n")
    result = run("t.csv", "--target", "logS", "--strict")
    assert (result.exit_code, result.stderr) == (1, "Error: row 40: line 42: 'C(' cannot be read: it is not a SMILES\n")
    assert not Path("data/t").exists()


def test_split_by_column_and_by_rows(run):
    Path("t.csv").write_text("smiles,y,set\nC,1,train\nCC,2,valid\nCCC,3,test\nCCCC,4,train\n")
    assert "(train 2, valid 1, test 1)" in run("t.csv", "--target", "y", "--split-column", "set").stdout
    Path("train.txt").write_text("0\n1\n2\n")
    Path("test.txt").write_text("3\n")
    rows = run("t.csv", "--target", "y", "--train-rows", "train.txt", "--test-rows", "test.txt", "--name", "rows")
    assert "(train 3, test 1)" in rows.stdout


def test_says_what_a_split_lacks(run):
    Path("t.csv").write_text("smiles,y,set\nC,1,train\nCC,0,train\nCCC,0,valid\nCCCC,0,valid\n")
    result = run("t.csv", "--target", "y", "--split-column", "set")
    assert result.stdout.splitlines()[-3:-1] == [
        "no target has both 0 and 1 in the split valid; it has only 0: ROC-AUC and AP need both",
        "the split test has no graphs",
    ]
    Path("train.txt").write_text("0\n1\n")
    result = run("t.csv", "--target", "y", "--train-rows", "train.txt", "--name", "rows")
    assert "the split valid has no graphs: no epoch can be selected" in result.stdout
    assert "both 0 and 1" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["t.csv", "--target", "logs"], 1, "has no column 'logs'; it has 'smiles', 'logS'; did you mean 'logS'?"),
        (["t.csv", "--smiles", "mol", "--target", "logS"], 1, "has no column 'mol'; it has 'smiles', 'logS'"),
        (["t.csv", "--target", "smiles"], 1, "row 0 (line 2), column 'smiles': 'CO' is a text"),
        (["t.csv"], 2, "Missing option '--target'"),
        (["absent.csv", "--target", "y"], 1, "absent.csv cannot be read: No such file"),
        (["t.csv", "--target", "logS", "--task", "ranking"], 2, "'regression', 'classification'"),
        (["t.csv", "--target", "logS", "--fractions", "0.8,x"], 2, "accepted: train,valid,test"),
        (["t.csv", "--target", "logS", "--fractions", "0.8,0.1"], 2, "three numbers that add up to 1"),
        (["t.csv", "--target", "logS", "--split", "column"], 1, "go together"),
        (["t.csv", "--target", "logS", "--name", "../up"], 2, "accepted: the name of a folder"),
        (["t.csv", "--target", "logS", "--data", "t.csv"], 2, "is a file"),
    ],
)
def test_errors(run, arguments, code, message):
    result = run(*arguments)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert not list(Path("data").glob("*/manifest.json"))


@pytest.mark.slow
def test_interrupted_it_leaves_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("smiles,y\n" + "c1ccccc1CCCCCCN,1.5\n" * 200_000)
    command = [sys.executable, "-m", "grpe_dgl", "preprocess", "csv", "t.csv", "--target", "y", "--workers", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("data/*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, b"interrupted" in stderr, b"Traceback" in stderr) == (130, True, False), stderr
    assert not (tmp_path / "data" / "t").exists()


def test_published_molecules_by_either_name(shared_raw, run):
    for name in ("molesol", "ogbg-molesol"):
        result = invoke("preprocess", name, "--raw-dir", shared_raw / "ogb")
        assert result.exit_code == 0, result.output
        assert "data/molesol" in result.stdout and "1,128 graphs" in result.stdout
    assert "exists already" in result.stdout


def test_unpublished_names(run):
    for name, message in (
        ("nothing", "there is no dataset 'nothing'; accepted: zinc"),
        ("zink", "there is no dataset 'zink' (did you mean zinc?); accepted: zinc"),
        ("esol", "(did you mean molesol?)"),
        ("my esol.CSV.gz", "`grpe preprocess csv 'my esol.CSV.gz' --target COLUMN` makes one of it"),
    ):
        result = invoke("preprocess", name, "--target", "y")
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_labels_are_described_once(run):
    rows = [("C", "yes"), ("CC", "no"), ("CCC", "yes"), ("OCC", "yes"), ("CCO", "no"), ("[13CH4]", "no"), ("N", "NA")]
    sets = ["train", "train", "train", "test", "test", "test", "train"]
    lines = [f"{smiles},{cell},7,{part}" for (smiles, cell), part in zip(rows, sets, strict=True)]
    Path("t.csv").write_text("smiles,y,z,set\n" + "\n".join(lines) + "\n")
    lines = run("t.csv", "--target", "y", "--split-column", "set").stdout.splitlines()
    for expected in (
        "column 'y': the positive class is yes (3 of 6), the negative is no; --positive CLASS --force chooses",
        "1 molecule has isotopes, which are no part of the model's features: it cannot see them",
        "y: no 3, yes 3",
        "y: a model that always predicts yes, the most frequent class in train, has accuracy 33.3 %, ROC-AUC 50 % and "
        "AP 33.3 % on test",
        "2 molecules occur more than once with different labels: no model can predict all of them",
    ):
        assert lines.count(expected) == 1, (expected, lines)
    lines = run("t.csv", "--target", "z", "--split-column", "set", "--name", "equal").stdout.splitlines()
    assert lines.count("z: every label is 7.0000; there is nothing to learn") == 1
    assert "column 'z' has no other values than 7; they may be classes; --task classification --force makes" in str(
        lines
    )


def test_a_european_table_with_bad_labels(run):
    Path("lab.csv").write_bytes("SMILES ;Löslichkeit;\r\nCCO;-0,77;\r\nCC;<1,5;\r\nC;3,5;\r\n;;\r\n".encode("latin-1"))
    command = ("lab.csv", "--target", "Löslichkeit", "--fractions", "1,0,0")
    result = run(*command)
    assert result.exit_code == 1 and "3 labels cannot be used" in result.stderr
    assert "all are listed in data/lab_bad_labels.csv" in result.stderr
    result = run(*command, "--decimal", ",")
    assert result.exit_code == 1 and "row 1 (line 3), column 'Löslichkeit': '<1,5' is a bound" in result.stderr
    result = run(*command, "--decimal", ",", "--bad-labels", "missing")
    assert result.exit_code == 0, result.output
    for said in ("read as Latin-1", "separated by semicolons", "1 label that cannot be used is a missing label"):
        assert said in result.output
    np.testing.assert_allclose(Store(Path("data/lab")).label[:, 0], [-0.77, np.nan, 3.5], rtol=1e-6)
