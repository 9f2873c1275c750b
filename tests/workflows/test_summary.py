import math

import pytest

from grpe_dgl.recipe import Recipe
from grpe_dgl.workflows.plan import FinishedRun, plan
from grpe_dgl.workflows.summary import best_run, summarise, table
from tests.training.tiny import recipe


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("mae", [0.3, 0.1, 0.2], 1),
        ("rocauc", [0.7, 0.9, 0.8], 1),
        ("accuracy", [math.nan, 0.4, 0.4], 1),
        ("mae", [math.nan, math.nan, math.nan], 0),
    ],
)
def test_best_run_goes_by_the_validation_metric_and_its_direction(tmp_path, metric, values, best):
    planned = plan(recipe(training__runs=3), tmp_path)
    results = [{"metric": metric, "splits": {"valid": value, "test": -value}} for value in values]
    assert best_run(list(map(FinishedRun, planned, results))) is planned[best]


def test_a_metric_that_is_nan_is_summarised(tmp_path):
    chosen = recipe(training__runs=2)
    results = {"metric": "mae", "splits": {"valid": 0.5, "test": math.nan}}
    summary = summarise([FinishedRun(planned, results) for planned in plan(chosen, tmp_path)], chosen)
    assert "| 2 |  | 0.5000 ± 0.0000 | nan ± nan |" in table(summary)


@pytest.mark.parametrize("value", [None, "0.1"])
def test_the_papers_column_is_there_only_with_a_number(tmp_path, value):
    paper = {"table": "t", "metric": "test MAE", "value": value}
    chosen = recipe(paper=paper)
    results = {"metric": "mae", "parameters": 1234, "splits": {"train": 0.25, "test": 0.5}}
    lines = table(summarise([FinishedRun(planned, results) for planned in plan(chosen, tmp_path)], chosen)).splitlines()
    if value is None:
        assert lines == [
            "| runs | parameters | train mae | test mae |",
            "| --- | --- | --- | --- |",
            "| 1 | 1,234 | 0.2500 | 0.5000 |",
        ]
    else:
        assert lines == [
            "| runs | parameters | train mae | test mae | paper |",
            "| --- | --- | --- | --- | --- |",
            "| 1 | 1,234 | 0.2500 | 0.5000 | 0.1 (test MAE) |",
        ]


def test_what_differs_is_marked_beside_the_papers_number(tmp_path):
    settings = recipe().to_dict()
    variants = {
        name: {"overrides": {}, "paper": {"table": "t", "metric": "test MAE", "value": value}}
        for name, value in (("a", "0.1"), ("b", "0.2"), ("c", "0.3"), ("d", None))
    }
    chosen = Recipe.from_dict({**settings, "variants": variants})
    results = {"metric": "mae", "splits": {"test": 0.5}}
    marks = [("training.epochs 3 instead of 9", "generated graphs"), (), ("training.epochs 3 instead of 9",), ("x",)]
    finished = [FinishedRun(run, results, marks[i]) for i, run in enumerate(plan(chosen, tmp_path))]
    lines = table(summarise(finished, chosen)).splitlines()
    assert [line.split(" | ")[-1] for line in lines[2:6]] == [
        "0.1 (test MAE) [1] |",
        "0.2 (test MAE) |",
        "0.3 (test MAE) [2] |",
        " |",
    ]
    assert lines[6:] == [
        "",
        "[1] not the setting of the paper's number: training.epochs 3 instead of 9; generated graphs",
        "",
        "[2] not the setting of the paper's number: training.epochs 3 instead of 9",
    ]


def test_several_numbers_of_one_model(tmp_path):
    chosen = recipe(paper={"table": "t", "values": {"train MAE": "0.0349", "validation MAE": "0.1225"}})
    results = {"metric": "mae", "splits": {"train": 0.25, "valid": 0.5}}
    text = table(summarise([FinishedRun(planned, results) for planned in plan(chosen, tmp_path)], chosen))
    assert text.splitlines()[2].endswith("| 0.0349 (train MAE), 0.1225 (validation MAE) |")


def test_finished_runs_of_an_earlier_version_lack_the_training_metric(tmp_path):
    chosen = recipe(training__runs=2)
    results = [{"metric": "mae", "splits": {"test": 1.0}}, {"metric": "mae", "splits": {"train": 2.0, "test": 3.0}}]
    (row,) = summarise(list(map(FinishedRun, plan(chosen, tmp_path), results)), chosen)["rows"]
    assert row["splits"]["train"]["values"] == [2.0] and row["splits"]["test"]["mean"] == 2.0
