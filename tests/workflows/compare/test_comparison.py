import csv
import io
import json
import math
import shutil
import statistics

import pytest

import grpe_dgl
from grpe_dgl.errors import InputError
from tests.workflows.compare.run_folders import ARRAYS, write_run

WIDE = {"model__hidden_size": 32}
NUMBER = {"table": "t", "metric": "test MAE", "value": "0.094 ± 0.002"}


def rows_of(comparison, number=0):
    return comparison.to_dict()["tables"][number]["rows"]


def test_seeds_of_a_model_are_a_row_with_mean_and_deviation(tmp_path):
    values = [0.5, 0.7, 0.9]
    for seed, value in enumerate(values):
        write_run(tmp_path / f"a/seed-{seed}", seed=seed, test=value, valid=value / 2, seconds=10.0 * (seed + 1))
    write_run(tmp_path / "b", test=0.3, name="wide", overrides=WIDE, parameters=99, peak_memory_bytes=7_000_000)
    comparison = grpe_dgl.compare(tmp_path / "a", tmp_path / "b")
    best, other = rows_of(comparison)
    assert (best["model"], best["seeds"], best["parameters"], best["peak_memory_bytes"]) == ("wide", [0], 99, 7_000_000)
    assert best["splits"]["test"] == {"mean": 0.3, "deviation": None, "values": [0.3]}
    assert other["splits"]["test"]["mean"] == pytest.approx(0.7)
    assert other["splits"]["test"]["deviation"] == pytest.approx(statistics.stdev(values))
    assert other["seconds_per_epoch"] == pytest.approx(60 / 9)
    assert "| tiny | grpe | 3 | 1,234 | 3 | 0.3500 ± 0.1000 | 0.7000 ± 0.2000 | 6.7 | 5 MB |" in str(comparison)
    assert comparison.excluded == ()


def test_rows_are_ordered_by_the_direction_of_the_metric(tmp_path):
    for name, value in (("low", 0.2), ("high", 0.9)):
        write_run(tmp_path / name, metric="rocauc", test=value, name=name, overrides={"model__layers": int(10 * value)})
        write_run(tmp_path / "mae" / name, test=value, name=name, overrides={"model__layers": int(10 * value)})
    comparison = grpe_dgl.compare(tmp_path)
    orders = {table["metric"]: [row["model"] for row in table["rows"]] for table in comparison.to_dict()["tables"]}
    assert orders == {"mae": ["low", "high"], "rocauc": ["high", "low"]}
    assert "tiny, test rocauc (higher is better)" in str(comparison) and "20.000 %" in str(comparison)


@pytest.mark.parametrize("changed", ["split-test", "label", "node_feat"])
def test_other_data_get_a_table_of_their_own(tmp_path, changed):
    write_run(tmp_path / "a", name="a")
    write_run(tmp_path / "b", name="b", arrays={**ARRAYS, changed: "other"})
    text = str(grpe_dgl.compare(tmp_path / "a", tmp_path / "b"))
    assert text.startswith("2 tables: runs that were trained on other data or splits, or selected by another metric,")
    named = {"split-test": "the split test", "label": "the labels", "node_feat": r"the graphs (node\_feat)"}[changed]
    assert f"not in the table above: the data differ in {named}".replace("\\", "") in text
    assert text.count("| a |") == text.count("| b |") == 1


def test_another_metric_gets_a_table_of_its_own(tmp_path):
    write_run(tmp_path / "a", name="a")
    write_run(tmp_path / "b", name="b", metric="rmse")
    assert "the metric is rmse instead of mae" in str(grpe_dgl.compare(tmp_path))


def test_what_cannot_be_compared_is_listed_with_the_reason(tmp_path):
    write_run(tmp_path / "good")
    shutil.copytree(tmp_path / "good", tmp_path / "begun")
    (tmp_path / "begun/results.json").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "planned").mkdir()
    shutil.copy(tmp_path / "good/recipe.yaml", tmp_path / "planned/recipe.yaml")
    (tmp_path / "file").write_text("")
    for name, change in {"json": None, "metric": {"metric": "speed"}, "seed": {"seed": "0"}, "list": {"splits": []},
                         "text": {"splits": {"test": "good"}}, "parts": {"data": [1]}}.items():  # fmt: skip
        results = write_run(tmp_path / name) / "results.json"
        content = '{"seed": 0,' if change is None else json.dumps(json.loads(results.read_text()) | change)
        results.write_text(content)
    names = ["begun", "empty", "planned", "file", "json", "metric", "seed", "list", "text", "parts", "missing"]
    comparison = grpe_dgl.compare(tmp_path / "good", [tmp_path / name for name in names])
    assert len(rows_of(comparison)) == 1
    reasons = {each.folder.name: each.reason for each in comparison.excluded}
    assert list(reasons) == names
    assert reasons["begun"] == "it is not finished: it has 3 completed epochs and no results.json"
    assert reasons["planned"] == "it is not finished: it has a recipe, but no epoch was completed"
    assert reasons["empty"].startswith("it holds no run") and reasons["missing"] == "there is no such folder"
    assert "results.json is damaged: it is not JSON" in reasons["json"]
    assert "metric 'speed'" in reasons["metric"] and "seed '0'" in reasons["seed"] and "splits []" in reasons["list"]
    assert "'good' for the split 'test'" in reasons["text"] and "data [1]" in reasons["parts"]
    text = str(comparison)
    assert all(f"{name}: it" in text for name in names[:3]) and "Not compared:" in text
    assert [each["folder"] for each in json.loads(comparison.to_json())["not_compared"]] == [
        str(tmp_path / name) for name in names
    ]


def test_without_any_finished_run_the_error_gives_the_reasons(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no finished run to compare .*empty: it holds no run.*gone: there is no such"):
        grpe_dgl.compare(tmp_path / "empty", tmp_path / "gone")
    with pytest.raises(InputError, match="no run to compare was given"):
        grpe_dgl.compare()


def test_a_folder_given_twice_counts_once_and_a_copy_is_no_second_seed(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / f"a/seed-{seed}", seed=seed, test=0.5 + seed)
    shutil.copytree(tmp_path / "a/seed-1", tmp_path / "copy")
    (tmp_path / "link").symlink_to(tmp_path / "a/seed-0")
    comparison = grpe_dgl.compare(tmp_path / "a", tmp_path / "a/seed-0", tmp_path / "link", tmp_path / "copy")
    (row,) = rows_of(comparison)
    assert row["seeds"] == [0, 1]
    (copy,) = comparison.excluded
    assert copy.folder == tmp_path / "copy" and f"a copy of {tmp_path / 'a/seed-1'}" in copy.reason


def test_the_same_training_repeated_with_other_numbers_is_another_row(tmp_path):
    for name, shift in (("a", 0.0), ("b", 0.01)):
        for seed in (0, 1):
            write_run(tmp_path / f"{name}/seed-{seed}", seed=seed, test=0.5 + seed + shift)
    comparison = grpe_dgl.compare(tmp_path)
    rows = rows_of(comparison)
    assert [row["seeds"] for row in rows] == [[0, 1], [0, 1]]
    assert [row["model"] for row in rows] == ["tiny (a)", "tiny (b)"]


def test_seeds_in_folders_of_their_own_are_one_model(tmp_path):
    for seed in (3, 1, 2):
        write_run(tmp_path / f"try{seed}", seed=seed)
    (row,) = rows_of(grpe_dgl.compare([tmp_path / f"try{seed}" for seed in (3, 1, 2)]))
    assert row["seeds"] == [1, 2, 3]


def test_a_metric_that_is_not_a_number_is_last_and_said_so(tmp_path):
    for seed, value in enumerate([0.1, math.nan]):
        write_run(tmp_path / f"a/seed-{seed}", seed=seed, test=value, name="a")
    write_run(tmp_path / "b", name="b", overrides=WIDE)
    write_run(tmp_path / "c", name="c", test=math.inf, overrides={"model__layers": 1})
    comparison = grpe_dgl.compare(tmp_path)
    assert [row["model"] for row in rows_of(comparison)] == ["b", "a", "c"]
    assert "a: the metric on test is not a number for seed 1" in str(comparison)
    saved = json.loads(comparison.to_json(), parse_constant=lambda text: pytest.fail(text))
    assert saved["tables"][0]["rows"][1]["splits"]["test"]["values"] == [0.1, None]
    alone = grpe_dgl.compare(tmp_path / "c")
    assert "inf" in str(alone)


def test_paired_test_needs_five_matching_seeds(tmp_path):
    for seed in range(5):
        write_run(tmp_path / f"a/seed-{seed}", seed=seed, test=0.1 + 0.01 * seed, name="a")
        write_run(tmp_path / f"b/seed-{seed}", seed=seed, test=0.2 + 0.011 * seed, name="b", overrides=WIDE)
        write_run(tmp_path / f"c/seed-{seed + 1}", seed=seed + 1, test=0.3, name="c", overrides={"model__layers": 1})
    comparison = grpe_dgl.compare(tmp_path)
    best, second, third = rows_of(comparison)
    assert best["paired_test"] is None
    assert second["paired_test"]["seeds"] == 5 and second["paired_test"]["p"] < 1e-4
    assert third["paired_test"] == {"seeds": 4, "p": None, "mean_difference": None}
    text = str(comparison)
    assert "| best |" in text and "| < 0.0001 |" in text
    assert "p: two-sided paired t-test of test mae against a over matching seeds (5), not corrected for 1 comp" in text
    assert "no paired test with fewer than 5 matching seeds: c" in text


def test_the_papers_number_and_whether_the_setting_is_its(tmp_path):
    write_run(tmp_path / "a", name="a", paper=NUMBER, setting={"differs": [], "runs": 1})
    differs = ["training.epochs 3 instead of 9"]
    write_run(tmp_path / "b", name="b", test=0.7, paper=NUMBER, setting={"differs": differs, "runs": 4}, overrides=WIDE)
    write_run(tmp_path / "c", name="c", test=0.8, overrides={"model__layers": 1})
    comparison = grpe_dgl.compare(tmp_path)
    assert [row["is_papers_setting"] for row in rows_of(comparison)] == [True, False, None]
    assert rows_of(comparison)[1]["differs"] == [*differs, "1 run instead of 4"]
    text = str(comparison)
    assert "| 0.094 ± 0.002 (test MAE) | yes |" in text and "| 0.094 ± 0.002 (test MAE) | no [1] |" in text
    assert "number: training.epochs 3 instead of 9; 1 run instead of 4" in text


HOSTILE = 'a|b "c", <script>alert(1)</script>\n`d`\x1b[31m=1'


def test_hostile_names_stay_in_their_cells(tmp_path):
    write_run(tmp_path / "a", name=HOSTILE, dataset=HOSTILE, variant="x|y")
    comparison = grpe_dgl.compare(tmp_path / "a")
    name = HOSTILE + "/x|y"
    (record,) = csv.DictReader(io.StringIO(comparison.to_csv()))
    assert record["model"] == name and record["dataset"] == HOSTILE
    assert json.loads(comparison.to_json())["tables"][0]["rows"][0]["model"] == name
    lines = str(comparison).splitlines()
    header = next(line for line in lines if line.startswith("| model"))
    row = lines[lines.index(header) + 2]
    assert row.replace("\\|", "").count("|") == header.count("|")
    assert "\\<script>" in row and "\\`d\\`" in row and "\x1b" not in str(comparison)


def test_runs_of_an_earlier_version(tmp_path):
    """They have neither recipe name, hashes, hardware nor memory; nothing is guessed."""
    old = ("recipe", "variant", "data", "hardware", "peak_memory_bytes", "model", "paper", "setting")
    write_run(tmp_path / "mine/seed-0", without=old, overrides={"paper": NUMBER})
    comparison = grpe_dgl.compare(tmp_path / "mine")
    (row,) = rows_of(comparison)
    assert row["model"] == "mine" and row["family"] == "grpe" and row["peak_memory_bytes"] is None
    assert row["is_papers_setting"] is None
    assert "these runs do not record which data they were trained on" in str(comparison)


@pytest.mark.parametrize("file", ["recipe.yaml", "metrics.csv"])
def test_missing_files_of_a_finished_run_are_said(tmp_path, file):
    for seed in (0, 1):
        write_run(tmp_path / f"a/seed-{seed}", seed=seed)
        (tmp_path / f"a/seed-{seed}" / file).unlink()
    (tmp_path / "a/recipe.yaml").write_text("")
    comparison = grpe_dgl.compare(tmp_path / "a")
    (row,) = rows_of(comparison)
    assert row["seeds"] == [0, 1] and f"seed 1: {file} is missing" in str(comparison)
    comparison.write(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_files_by_their_ending(tmp_path):
    write_run(tmp_path / "a")
    comparison = grpe_dgl.compare(str(tmp_path / "a"))
    for name, begin in (("t.md", "**tiny"), ("t.csv", "table,dataset"), ("t.json", "{"), ("t.SVG", "<?xml")):
        comparison.write(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(begin)
    with pytest.raises(InputError, match="accepted: a name that ends in .md, .csv, .json, .png, .svg, .pdf"):
        comparison.write(tmp_path / "t.xlsx")
