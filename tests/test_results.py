"""docs/results.md is what `grpe compare` makes of the runs in docs/results."""

import json

import pytest

from benchmarks import results
from tests.workflows.compare.run_folders import write_run


def test_the_page_is_up_to_date():
    """If this fails: python -m benchmarks.results."""
    text = results.PAGE.read_text(encoding="utf-8")
    assert results.page(text) == text


def test_summaries_are_small_and_whole():
    files = [path for path in results.FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    folders = {path.parent for path in files}
    assert all({path.name for path in folder.iterdir()} == set(results.FILES) for folder in folders)
    for folder in folders:
        found = json.loads((folder / "results.json").read_text())
        assert "/" not in found["dataset"] and "folder" not in found["data"]


@pytest.mark.parametrize(("worst", "expected"), [(0.9, "The order is the paper's: "), (0.2, "1 of 3 pairs of models ")])
def test_order_beside_the_papers(worst, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "docs")
    for name, test, number in (("gcn", worst, "0.9 ± 0.1"), ("gin", 0.5, "0.7"), ("gt", 0.25, "0.3 %")):
        paper = {"table": "t", "metric": "test MAE", "value": number}
        folder = tmp_path / "runs" / "table_t" / name / "seed-0"
        write_run(
            folder, test=test, name="table_t", variant=name, paper=paper, overrides={"model__layers": len(number)}
        )
        (folder / "best.ckpt").write_text("large")
    assert results.collect(tmp_path / "runs") == 3
    assert not list((tmp_path / "docs").rglob("*.ckpt"))
    text = results.page("a\n<!-- results of table_t -->\nold\n<!-- end -->\nb <!-- results of none -->\n<!-- end -->")
    assert expected in text and "table_t/gin" in text and "old" not in text and "No run is finished" in text
    assert text.startswith("a\n") and results.page(text) == text
    if worst < 0.25:
        assert "Here, the best first: gcn, gt, gin; in the paper: gt, gin, gcn." in text
