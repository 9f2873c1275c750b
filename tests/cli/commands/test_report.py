"""`grpe report`; the page itself is tested in tests/workflows/report."""

import pytest

from tests.cli.invoke import grpe_in
from tests.workflows.compare.run_folders import write_run


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path / "runs/a", name="a")
    write_run(tmp_path / "runs/b", name="b", overrides={"model__layers": 1})
    (tmp_path / "old.html").write_text("old")
    return tmp_path


def test_writes_a_page(runs):
    assert grpe_in(runs, "report", "runs/a", "runs/b", "--out", "page.html") == "written: page.html (0.0 MB)\n"
    page = (runs / "page.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<section") == 3
    assert sorted(path.name for path in runs.iterdir()) == ["old.html", "page.html", "runs"]
    grpe_in(runs, "report", "runs/a", "--out", "old.html", "--force")
    assert (runs / "old.html").read_text().count("<section") == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--out", "p.html"), 2, "Missing argument 'RUN...'"),
        (("runs",), 2, "Missing option '--out'"),
        (("runs", "--out", "p.pdf"), 2, "--out p.pdf: accepted: a name that ends in .html, .htm"),
        (("runs", "--out", "old.html"), 1, "old.html exists already; --force overwrites it"),
        (("gone", "--out", "p.html"), 1, "no finished run to compare (gone: there is no such folder)"),
        (("runs", "--out", "p.html", "--dataset", "runs"), 1, "runs is not a dataset"),
        (("runs", "--out", "none/p.html"), 1, "there is no folder none"),
    ],
)
def test_errors(runs, words, code, message):
    assert message in " ".join(grpe_in(runs, "report", *words, code=code).split())
    assert (runs / "old.html").read_text() == "old" and not (runs / "p.html").exists()
