import math

import pytest

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
    assert "| 2 | 0.5000 ± 0.0000 | nan ± nan |" in table(summary)


@pytest.mark.parametrize("value", [None, "0.1"])
def test_the_papers_column_is_there_only_with_a_number(tmp_path, value):
    paper = {"table": "t", "metric": "test MAE", "value": value}
    chosen = recipe(paper=paper)
    results = {"metric": "mae", "splits": {"test": 0.5}}
    lines = table(summarise([FinishedRun(planned, results) for planned in plan(chosen, tmp_path)], chosen)).splitlines()
    if value is None:
        assert lines == ["| runs | test mae |", "| --- | --- |", "| 1 | 0.5000 |"]
    else:
        assert lines == ["| runs | test mae | paper |", "| --- | --- | --- |", "| 1 | 0.5000 | 0.1 (test MAE) |"]
