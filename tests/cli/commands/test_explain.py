import csv
import json
import re

import pytest

from grpe_dgl.explain import explain
from tests import trained
from tests.cli.invoke import grpe

HOSTILE = "<script>alert('1')</script>"


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


@pytest.fixture
def table(tmp_path):
    with (tmp_path / "m.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "name"), ("OCC", HOSTILE), ("broken(", "b"), ("CC(=O)N", "c\x1b")])
    return tmp_path / "m.csv"


def test_tables_have_lists_in_the_order_of_the_smiles(model, table, tmp_path):
    result = grpe("explain", model, table, "--out", tmp_path / "x.csv")
    assert "3 molecules, 1 without an explanation" in result.output and "row 1: 'broken('" in result.output
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    (expected,) = explain(model, ["OCC"])
    assert json.loads(rows[0]["atom_contributions"]) == pytest.approx(expected.atoms.tolist(), rel=1e-4, abs=1e-5)
    assert json.loads(rows[0]["bond_contributions"]) == pytest.approx(expected.bonds.tolist(), rel=1e-4, abs=1e-5)
    assert json.loads(rows[0]["bond_atoms"]) == [[0, 1], [1, 2]] and rows[0]["name"] == HOSTILE
    assert float(rows[0]["predicted_logS"]) == pytest.approx(expected.value, abs=1e-4)
    assert rows[1]["atom_contributions"] == "" and "cannot be read" in rows[1]["error"]
    parquet = pytest.importorskip("pyarrow.parquet")
    grpe("explain", model, table, "--method", "gradient", "--out", tmp_path / "x.parquet")
    columns = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert columns["atom_contributions"][1] is None and len(columns["atom_contributions"][2]) == 4
    total = columns["predicted_logS"][2] - columns["baseline"][2]
    parts = columns["atom_contributions"][2]
    assert sum(parts) == pytest.approx(total, abs=0.01 * sum(map(abs, parts)) + 1e-5)


def test_a_page_draws_every_molecule_with_a_legend_and_hostile_names_stay_text(model, table, tmp_path):
    grpe("explain", model, table, "--out", tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert text.count("<svg") == 2 and text.count("<article") == 3
    assert "unit of logS" in text and "no explanation" in text
    assert "<script" not in text and "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;" in text and "\x1b" not in text
    grpe("explain", model, "CCO", "CCN", "--out", tmp_path / "y.html", "--method", "gradient")
    assert "baseline" in (tmp_path / "y.html").read_text()


def test_descriptors_that_no_atom_accounts_for_are_named(model, tmp_path):
    note, gradient = "The model also reads descriptors of the whole molecule", ["--method", "gradient"]
    result = grpe("explain", model, "CCO", *gradient, "--out", tmp_path / "x.html")
    assert note not in result.stderr and "also reads" not in (tmp_path / "x.html").read_text()
    joined = trained.save(tmp_path / "joined.ckpt", overrides={"model.descriptors": "rdkit"})
    assert note in grpe("explain", joined, "CCO", *gradient, "--out", tmp_path / "y.html").stderr
    text = (tmp_path / "y.html").read_text()
    assert note in text and re.search(r"descriptors [+-]\d", text)
    grpe("explain", joined, "CCO", "C1", "--out", tmp_path / "z.csv", *gradient)
    one, bad = csv.DictReader((tmp_path / "z.csv").read_text().splitlines())
    assert float(one["descriptor_contribution"]) != 0 and bad["descriptor_contribution"] == ""
    assert note not in grpe("explain", joined, "CCO", "--out", tmp_path / "z.html").stderr  # masking changes them


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}", "CCO"], 2, "Missing option '--out'"),
        (["{model}", "--out", "x.csv"], 2, "Missing argument"),
        (["{model}", "CCO", "--out", "x.png"], 2, "accepted: a name that ends in .html, .csv"),
        (["{model}", "CCO", "--out", "x.csv", "--target", "logP"], 1, "target is 'logP'"),
        (["{model}", "CCO", "--out", "x.csv", "--smiles", "a"], 2, "--smiles goes with a table"),
        (["{model}", "none.csv", "--out", "x.csv"], 1, "none.csv cannot be read"),
        (["{model}", "a.csv", "CCO", "--out", "x.csv"], 2, "accepted: one table, or any number of SMILES"),
        (["none.ckpt", "CCO", "--out", "x.csv"], 1, "none.ckpt cannot be read"),
    ],
)
def test_errors(model, tmp_path, arguments, code, message):
    words = [word.format(model=model) for word in arguments]
    assert message in grpe("explain", *words, folder=tmp_path, code=code).output
    assert not (tmp_path / "x.csv").exists()
