import json

import pytest

from tests.cli.invoke import grpe, grpe_in
from tests.small_table import SMALL, frame

SETTINGS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={'null' if value is None else value}")]
WORDS = ("fit", "table.csv", "--smiles", "SMILES", "--target", "size", "--epochs", 2, *SETTINGS)


@pytest.fixture
def folder(tmp_path):
    frame().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def test_one_command_then_predict_with_its_folder(folder):
    output = grpe_in(folder, *WORDS, "--split", "scaffold")
    assert "runs/table/data: 40 graphs" in output and "task inferred from the targets: regression" in output
    assert "best model in runs/table/best.ckpt" in output and "report: runs/table/report.html\n" in output
    assert (folder / "runs/table/report.html").read_text().startswith("<!")
    assert json.loads((folder / "runs/table/data/manifest.json").read_text())["settings"]["split"] == "scaffold"
    predicted = grpe_in(folder, "predict", "runs/table", "CCO", "c1ccccc1")
    assert predicted == grpe_in(folder, "predict", "runs/table/best.ckpt", "CCO", "c1ccccc1")
    assert predicted.startswith("smiles,predicted_size,error\nCCO,")
    results = json.loads((folder / "runs/table/results.json").read_text())
    measured = json.loads(grpe_in(folder, "evaluate", "runs/table", "--json"))  # on the data in the run's folder
    assert measured["rmse"] == pytest.approx(results["splits"]["test"], rel=1e-5)
    described = json.loads(grpe_in(folder, "info", "runs/table", "--json"))
    assert described["parameters"] == results["parameters"]


def test_existing_folder_resume_and_stop(folder):
    output = grpe_in(folder, *WORDS, "--max-time", "1s", "--set", "training.epochs=500", "--out", "run")
    assert "--max-time is reached; everything is saved in run" in output
    refused = grpe_in(folder, *WORDS, "--out", "run", code=1)
    assert "run exists already, and resume is not set; --resume continues it, --out names another folder" in refused
    other = grpe_in(folder, *WORDS, "--out", "run", "--resume", code=1)
    assert "run/recipe.yaml was made by another recipe: training.epochs is 500 there" in other
    unfinished = grpe_in(folder, "predict", "run", "CCO", code=1)
    assert "run is a run that is not finished" in unfinished or "without a trained model" in unfinished


def test_several_seeds_are_one_ensemble(folder):
    grpe_in(folder, *WORDS, "--epochs", 1, "--runs", 2, "--seed", 7, "--out", "two")
    lines = grpe_in(folder, "predict", "two", "CCO").splitlines()
    assert lines[0] == "smiles,predicted_size,predicted_size_spread,error"
    refused = grpe_in(folder, "explain", "two", "CCO", "--out", "two.html", code=1)
    assert "two has 2 models; accepted: one of them, such as two/seed-7/best.ckpt" in refused
    assert float(lines[1].split(",")[2]) > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("fit", "table.csv"), 2, "Missing option '--target'"),
        (("fit", "nothing.csv", "--target", "size"), 1, "nothing.csv cannot be read: No such file"),
        (WORDS[:6] + ("--target", "sise"), 1, "has no column 'sise'"),
        ((*WORDS, "--fractions", "1,1,1"), 2, "fractions are 1, 1, 1; accepted"),
        ((*WORDS, "--recipe", "proprety"), 1, "did you mean"),
    ],
)
def test_errors(folder, words, code, message):
    assert message in grpe_in(folder, *words, code=code)
    assert not (folder / "runs").exists()


def test_folds_and_intervals(folder):
    words = (*WORDS, "--epochs", 1, "--split", "scaffold")
    output = grpe_in(folder, *words, "--folds", 2, "--out", "folds")
    assert "mean and deviation over 2 splits (2 folds, scaffold):\n| runs |" in output
    assert "40 rows, each predicted by models that never saw it: rmse" in output
    assert "takes the mean of all 2 models" in output and "not exchangeable" in output
    assert "report: folds/report.html" in output and "Cross-validation on" in (folder / "folds/report.html").read_text()
    result = grpe("predict", "folds", "CCO", "--interval", 0.9, folder=folder)
    assert result.stdout.startswith(
        "smiles,predicted_size,predicted_size_spread,predicted_size_low,predicted_size_high"
    )
    assert "divided by the rule 'scaffold', so new molecules are not exchangeable" in result.stderr
    one = grpe_in(folder, "predict", "folds/fold-1", "CCO", "--interval", 0.9, code=1)
    assert "folds/fold-1 has no calibration.json" in one and "--folds 5 on every row" in one
    assert "accepted: between 0 and 1" in grpe_in(folder, "predict", "folds", "CCO", "--interval", 90, code=2)
    assert "--repeats and --final go with --folds" in grpe_in(folder, *words, "--final", code=2)


def test_intervals_of_one_model_are_calibrated_on_its_test_rows(folder):
    output = grpe_in(folder, *WORDS, "--epochs", 1, "--fractions", "0.5,0.2,0.3", "--out", "one")
    assert "size: intervals of 90 % are ± " in output and "from 12 rows kept back" in output
    predicted = grpe_in(folder, "predict", "one", "CCO", "--interval", 0.9)
    assert predicted == grpe_in(folder, "predict", "one/best.ckpt", "CCO", "--interval", 0.9)
    low, high = (float(cell) for cell in predicted.splitlines()[1].split(",")[2:4])
    errors = json.loads((folder / "one/calibration.json").read_text())["numbers"][0]["errors"]
    assert high - low == pytest.approx(2 * errors[11], rel=1e-4)  # the 12th of 12: (12 + 1) * 0.9, rounded up
    refused = grpe_in(folder, "predict", "one", "CCO", "--interval", 0.95, code=1)
    assert "an interval of 95 % needs the errors of at least 19 rows" in refused


def test_a_run_that_never_began_is_made_again_with_other_data(folder):
    one = frame().assign(size=0)
    one.to_csv(folder / "one.csv", index=False)
    words = ("fit", "one.csv", "--smiles", "SMILES", "--target", "size", *SETTINGS, "--epochs", 1, "--out", "run")
    refused = grpe_in(folder, *words, code=1)
    assert "try another --split, --fractions or --seed, or --set training.metric=accuracy" in refused
    resumed = grpe_in(folder, *words, "--seed", 1, "--resume", code=1)
    assert "run/data was made with other settings: seed is 0 there" in resumed and "--force" not in resumed
    output = grpe_in(folder, *words, "--seed", 1, "--set", "training.metric=accuracy")
    assert "run/data: 40 graphs" in output and "best model in run/best.ckpt" in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smiles,y\nCCO,1.5\n", "leaves none of 1 molecule for train; --fractions 1,0,0 trains on every row"),
        (
            "smiles,y\nxx,1\n,2\n",
            "2 rows skipped:\n  row 0: line 2: 'xx' cannot be read: it is not a SMILES\n  row 1: ",
        ),
        ("CCO,1.5\nCCC,2\n", "no column 'y'; it has 'CCO', '1.5'; its first line must have the names of the columns"),
    ],
)
def test_tables_that_cannot_be_fitted(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    assert message in grpe_in(tmp_path, "fit", "t.csv", "--target", "y", code=1)
