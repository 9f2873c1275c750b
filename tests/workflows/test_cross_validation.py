import csv
import json
import shutil

import numpy as np
import pytest

import grpe_dgl
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.workflows.evaluate import evaluate
from tests.small_table import SMALL, frame

OPTIONS = {"smiles": "SMILES", "settings": SMALL, "epochs": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three folds twice of forty molecules, of which two are the same and one cannot be read, and a final model."""
    out = tmp_path_factory.mktemp("runs") / "run"
    table = frame()
    table.loc["m1", "SMILES"], table.loc["m4", "SMILES"] = "no molecule", "NC"  # the same as m0, written as CN
    with pytest.warns(UserWarning, match="1 rows were not used"):
        model = grpe_dgl.fit(table, target="size", folds=3, repeats=2, final=True, out=out, **OPTIONS)
    return table, out, model


def test_every_row_is_predicted_by_models_that_never_saw_it(run):
    table, out, model = run
    with (out / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [str(number) for number in range(40)]
    assert "cannot be read" in rows[1]["error"] and rows[1]["predicted_size"] == ""
    assert rows[0]["fold_1"] == rows[4]["fold_1"] and rows[0]["fold_2"] == rows[4]["fold_2"]  # equal molecules
    for row in (rows[0], rows[7]):
        own = [
            grpe_dgl.load(out / f"repeat-{repeat}/fold-{row[f'fold_{repeat}']}/best.ckpt").predict([row["smiles"]])
            for repeat in (1, 2)
        ]
        assert float(row["predicted_size"]) == pytest.approx(float(np.mean(own)), rel=1e-4)
        assert float(row["predicted_size_spread"]) == pytest.approx(float(np.std(own, ddof=1)), rel=1e-3)
    identity = load_checkpoint(out / "repeat-1/fold-1/best.ckpt").data_identity
    assert len(identity.training_graphs) < 30


def test_the_summary_and_the_ensemble(run):
    _, out, model = run
    summary = json.loads((out / "summary.json").read_text())
    values = summary["rows"][0]["splits"]["test"]["values"]
    assert len(values) == 6 and summary["rows"][0]["splits"]["test"]["deviation"] == pytest.approx(
        np.std(values, ddof=1)
    )
    assert summary["held_out"]["rows"] == 39 and summary["best_epochs"] == [1] * 6
    assert len(model.members) == 6
    each = [member.predict(["CCO"]) for member in model.members]
    assert model.predict(["CCO"]) == pytest.approx(np.mean(each, 0))


def test_the_report_is_of_all_folds(run, tmp_path):
    _, out, _ = run
    page = grpe_dgl.report(out, tmp_path / "page.html")
    summary = json.loads((out / "summary.json").read_text())
    assert (tmp_path / "page.html").read_text() == page
    assert "3 folds by the rule random, 2 times: 6 models" in page and "repeat-2/fold-3" in page
    assert f'<data value="{summary["held_out"]["value"]!r}">' in page
    test = summary["rows"][0]["splits"]["test"]
    assert f"{test['mean']:.4f} ± {test['deviation']:.4f}" in page
    assert "predicted against true" in page and "39 points" in page and "Worst predictions" in page
    assert "intervals of 90 %" in page


def test_a_report_without_the_dataset_or_the_predictions(run, tmp_path):
    _, out, _ = run
    assert "the dataset cannot be read" in grpe_dgl.report(out, dataset=tmp_path / "none")
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / "predictions.csv").write_text("other,columns\n1,2\n")
    assert "predictions.csv is damaged: its columns are other, columns" in grpe_dgl.report(copy)
    (copy / "summary.json").write_text("{}")
    with pytest.raises(InputError, match="is not the summary of a cross-validation"):
        grpe_dgl.report(copy)


def test_the_final_model_is_of_all_rows(run):
    _, out, _ = run
    final = load_checkpoint(out / "final/best.ckpt")
    assert len(final.data_identity.training_graphs) == 39 and final.recipe.training.stop_after_epochs == 1


def test_the_final_model_has_intervals_from_the_errors_of_single_models(run):
    table, out, _ = run
    final = grpe_dgl.load(out / "final")
    with (out / "predictions.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["fold_1"]]
    folds = {row["fold_1"]: grpe_dgl.load(out / f"repeat-1/fold-{row['fold_1']}/best.ckpt") for row in rows}
    errors = [abs(float(row["size"]) - folds[row["fold_1"]].predict([row["smiles"]])[0, 0]) for row in rows]
    found = final.predict(table[["SMILES"]].iloc[5:8], interval=0.9)
    half = np.sort(errors)[35]  # the 36th of 39
    assert (found["predicted_size_high"] - found["predicted_size"]).to_numpy() == pytest.approx([half] * 3, rel=1e-4)


def test_the_dataset_of_folds_has_no_test_split(run):
    _, out, _ = run
    fold = load_checkpoint(out / "repeat-1/fold-1/best.ckpt")
    with pytest.raises(InputError, match="the split test of .* has no graphs; accepted: train") as error:
        evaluate(fold, out / "data")
    assert error.value.hint is None


def test_intervals(run):
    table, out, model = run
    found = model.predict(table[["SMILES"]].iloc[5:8], interval=0.9)
    assert list(found.columns) == [
        "predicted_size", "predicted_size_spread", "predicted_size_low", "predicted_size_high"
    ]  # fmt: skip
    assert (found["predicted_size_low"] < found["predicted_size"]).all()
    assert (found["predicted_size"] < found["predicted_size_high"]).all()
    assert model.calibration.method == "cross" and len(model.calibration.numbers[0].errors) == 39
    narrow = model.predict(["CCO"], interval=0.5)
    wide = model.predict(["CCO"], interval=0.9)
    assert narrow["predicted_size_low"][0] > wide["predicted_size_low"][0]
    with pytest.raises(InputError, match="an interval of 99 % needs the errors of at least 99 rows .* has 39"):
        model.predict(["CCO"], interval=0.99)


def test_classes_by_a_column_that_divides_equal_molecules(tmp_path):
    table = frame(24)
    table["batch"] = ["a", "b", "c"] * 8
    table.loc["m4", "SMILES"] = "NC"
    table.loc["m5", "batch"] = None
    model = grpe_dgl.fit(
        table, target="kind", folds=3, split="column", split_column="batch", out=tmp_path / "run", **OPTIONS
    )
    with (tmp_path / "run/predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[5]["error"] == "in no fold" and rows[5]["fold"] == ""
    folds = {
        name: {row["fold"] for row, own in zip(rows, table["batch"], strict=True) if own == name} for name in "abc"
    }
    assert sorted(map(len, folds.values())) == [1, 1, 1] and len(set().union(*folds.values())) == 3
    with pytest.warns(UserWarning, match="divided by the rule 'column', so new molecules are not exchangeable"):
        found = model.predict(["CCO"], interval=0.8)
    assert found["set_kind"][0] in ("chain", "ring", "chain|ring")
    assert 0 < found["calibrated_probability_kind_ring"][0] < 1


def test_resumed_with_other_folds_it_is_refused(run):
    table, out, _ = run
    with pytest.raises(InputError, match="folds.json is of other folds: folds is 3 there, 4 was asked for"):
        grpe_dgl.fit(table, target="size", folds=4, repeats=2, out=out, resume=True, **OPTIONS)
    with pytest.raises(InputError, match="repeats and final go with folds"):
        grpe_dgl.fit(table, target="size", repeats=2, **OPTIONS)
