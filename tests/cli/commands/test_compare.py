"""`grpe compare`; what the tables contain is tested in tests/workflows/compare."""

import json

import pytest

from tests.cli.invoke import grpe, grpe_in
from tests.workflows.compare.run_folders import write_run


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path / "runs/a", name="a", test=0.4)
    write_run(tmp_path / "runs/b", name="b", overrides={"model__hidden_size": 32})
    (tmp_path / "runs/c").mkdir()
    return tmp_path


def test_prints_the_table_and_writes_nothing_unasked(runs):
    output = grpe("compare", "runs/a", "runs/b", "runs/c", folder=runs).stdout
    assert output.index("| a | grpe |") < output.index("| b | grpe |")
    assert output.endswith("- runs/c: it holds no run: no results.json in it or in the folders inside\n")
    assert sorted(path.name for path in runs.iterdir()) == ["runs"]


def test_files_and_the_picture_beside_the_first(runs):
    result = grpe("compare", "runs", "--out", "t.md", "--out", "u.json", "--out", "v.csv", folder=runs)
    assert (runs / "t.md").read_text() == result.stdout
    assert len(json.loads((runs / "u.json").read_text())["tables"][0]["rows"]) == 2
    assert (runs / "v.csv").read_text().count("\n") == 3
    assert (runs / "t.png").read_bytes().startswith(b"\x89PNG")
    assert [line for line in result.stderr.splitlines() if line.startswith("written")] == [
        "written: t.md", "written: u.json", "written: v.csv", "written: t.png",
    ]  # fmt: skip


def test_curves_alone(runs):
    grpe("compare", "runs", "--curves", "c.svg", folder=runs)
    assert (runs / "c.svg").read_text().count("seed") == 0 and not (runs / "c.png").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "Missing argument 'RUN...'"),
        (("runs", "--out", "t.xlsx"), 2, "--out t.xlsx: accepted: a name that ends in .md, .csv, .json"),
        (("runs", "--curves", "t.gif"), 2, "--curves t.gif: accepted: a name that ends in .png, .svg, .pdf"),
        (("runs", "--out", "none/t.md"), 1, "there is no folder none"),
        (("runs", "--out", "old.md"), 1, "old.md exists already; --force overwrites it"),
        (("gone",), 1, "no finished run to compare (gone: there is no such folder)"),
        (("runs/c",), 1, "no finished run to compare (runs/c: it holds no run"),
    ],
)
def test_errors(runs, words, code, message):
    (runs / "old.md").write_text("old")
    output = " ".join(grpe_in(runs, "compare", *words, code=code).split())
    assert message in output
    assert (runs / "old.md").read_text() == "old"


def test_force_overwrites(runs):
    (runs / "old.md").write_text("old")
    grpe("compare", "runs", "--out", "old.md", "--force", folder=runs)
    assert (runs / "old.md").read_text().startswith("**tiny")
