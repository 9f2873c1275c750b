"""docs/results.md is what `grpe compare` makes of the runs in docs/results."""

import json

import pytest

from benchmarks import results, table_results
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


def test_the_table_of_molecule_tables_is_up_to_date():
    """If this fails: python -m benchmarks.table_results."""
    text = table_results.PAGE.read_text(encoding="utf-8")
    assert table_results.page(text, table_results.read(table_results.FILE)) == text


def test_cells_of_several_runs_are_kept(tmp_path):
    def write(folder, seed, score):
        folder.mkdir(exist_ok=True)
        cell = dict.fromkeys(table_results.COLUMNS, 1.0) | {"table": "esol", "method": "from base", "train": 1000}
        cell |= {"seed": seed, "score": score, "test": 113, "test among pretraining molecules": 2}
        (folder / f"{seed}.json").write_text(json.dumps(cell))

    write(tmp_path / "a", 0, 0.5)
    write(tmp_path / "a", 1, 0.7)
    write(tmp_path / "b", 1, 0.9)
    file = tmp_path / "cells.csv"
    assert table_results.collect(tmp_path / "a", file) == 2
    assert table_results.collect(tmp_path / "b", file) == 1
    assert [(cell["seed"], cell["score"]) for cell in table_results.read(file)] == [(0, 0.5), (1, 0.9)]
    text = table_results.page("a\n<!-- tables -->\nold\n<!-- end -->\n", table_results.read(file))
    row = "| esol | 1,000 | `grpe fit`, from `base` | 2 | 0.700 ± 0.283 | 1.000 ± 0.000 | 111 of 113 | 1 |"
    assert text.splitlines()[-2] == row and "old" not in text
