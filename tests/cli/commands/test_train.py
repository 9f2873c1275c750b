import csv
import json
import re

import numpy as np
import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl_cli.support import run_display
from tests.cli.invoke import grpe_in
from tests.small_table import SMALL, frame
from tests.training.tiny import recipe, write_dataset


def test_train_then_evaluate(folder):
    output = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/first")
    assert "epoch   3  loss" in output and "best model in runs/first/best.ckpt" in output
    results = json.loads((folder / "runs/first/results.json").read_text())
    output = grpe_in(folder, "evaluate", "runs/first/best.ckpt", "--json", "--metric", "mae", "--metric", "rmse")
    measured = json.loads(output)
    assert measured["mae"] == pytest.approx(results["splits"]["test"], rel=1e-5) and measured["rmse"] > measured["mae"]
    assert "tiny train (20 labels): mae" in grpe_in(folder, "evaluate", "runs/first/best.ckpt", "--split", "train")


def test_a_run_is_calibrated_on_its_test_split(tmp_path):
    rows = frame()
    rows.to_csv(tmp_path / "t.csv", index=False)
    grpe_in(tmp_path, "preprocess", "csv", "t.csv", "--target", "size", "--fractions", "0.5,0.1,0.4")
    sizes = [word for key, value in SMALL.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    words = ("train", "property", "--dataset", "t", "--from-scratch", "--epochs", 1, "--runs", 2, *sizes)
    words = (*words, "--out", "run")
    output = grpe_in(tmp_path, *words)
    assert "size: intervals of 90 % are ±" in output and "from 16 rows kept back" in output
    found = grpe_in(tmp_path, "predict", "run", "CCO", "--interval", 0.9)
    assert "predicted_size_low,predicted_size_high" in found
    calibration = json.loads((tmp_path / "run/calibration.json").read_text())
    assert calibration["models"] == ["seed-0/best.ckpt", "seed-1/best.ckpt"] and calibration["split"] == "random"
    kept = []
    for seed in (0, 1):
        with np.load(tmp_path / f"run/seed-{seed}/predictions_test.npz") as arrays:
            kept.append((arrays["predictions"], arrays["labels"]))
    errors = np.abs(np.mean([predictions for predictions, _ in kept], 0) - kept[0][1])[:, 0]
    widths = np.array(calibration["numbers"][0]["errors"])
    assert len(widths) == 16 and widths.mean() == pytest.approx(errors.mean(), rel=0.5)
    (tmp_path / "run/calibration.json").unlink()  # as a run of an earlier version
    missing = grpe_in(tmp_path, "predict", "run", "CCO", "--interval", 0.9, code=1)
    assert "`grpe train RECIPE --out run --resume` calibrates on the test split" in " ".join(missing.split())
    grpe_in(tmp_path, *words, "--resume")
    assert json.loads((tmp_path / "run/calibration.json").read_text()) == calibration


def test_runs_and_options_land_in_the_recipe(folder):
    output = grpe_in(folder, "train", "any.yaml", "--dataset", "tiny", "--runs", 2, "--seed", 5, "--epochs", 2,
                  "--set", "model.layers=1", "--out", "runs/two")  # fmt: skip
    for seed in (5, 6):
        saved = load_checkpoint(folder / f"runs/two/seed-{seed}/best.ckpt")
        assert saved.recipe.training.seed == seed and saved.recipe.training.epochs == 2
        assert saved.recipe.model.layers == 1 and saved.recipe.dataset == "tiny"
    assert "| runs | parameters | train mae | valid mae | test mae |\n" in output
    summary = json.loads((folder / "runs/two/summary.json").read_text())
    values = summary["rows"][0]["splits"]["test"]["values"]
    assert summary["rows"][0]["splits"]["test"]["mean"] == pytest.approx(sum(values) / 2)
    assert "±" in (folder / "runs/two/table.md").read_text()


def test_a_validation_split_that_cannot_judge_is_refused_before_training(folder):
    write_dataset(folder / "more" / "unjudged", "binary", valid_labels=[[0, 0, 0]] * 4)
    words = ("train", "any.yaml", "--out", "runs/unjudged", "--data", "more", "--dataset")
    output = grpe_in(folder, *words, "unjudged", code=1)
    assert (
        "rocauc cannot select the best epoch: in the split valid of more/unjudged (4 graphs) no target has labels"
        in output
    )
    assert "--set training.metric=accuracy" in output and not (folder / "runs/unjudged").exists()
    grpe_in(folder, *words, "unjudged", "--set", "training.metric=accuracy")


def test_without_a_validation_split_the_last_epoch_is_taken(folder):
    write_dataset(folder / "more" / "unvalidated", "regression", num_valid=0)
    words = ("--out", "runs/unvalidated", "--data", "more", "--dataset", "unvalidated", "--epochs", 2)
    output = grpe_in(folder, "train", "any.yaml", *words, "--set", "training.early_stopping=1")
    assert "no graphs to validate on: every epoch is trained, and the model of the last one is taken\n" in output
    assert "last epoch 2: mae train" in output
    assert "valid mae: not measured, as there is no split to validate on" in output
    best, last = (load_checkpoint(folder / f"runs/unvalidated/{name}.ckpt") for name in ("best", "last"))
    assert all(torch.equal(best.weights[name], last.weights[name]) for name in last.weights)
    results = json.loads((folder / "runs/unvalidated/results.json").read_text())
    assert results["best_epoch"] == 2 and set(results["splits"]) == {"train", "test"}


def test_says_what_is_trained_and_how_it_ended(folder, monkeypatch):
    monkeypatch.setattr(run_display, "SECONDS_BETWEEN_LINES", 0.0)
    words = ("train", "tiny.yaml", "--out", "runs/said", "--set", "training.early_stopping=1", "--epochs", 9)
    output = grpe_in(folder, *words, "--learning-rate", 1e-8, "--resume")
    parameters = json.loads((folder / "runs/said/results.json").read_text())["parameters"]
    assert "data: tiny, train 20, valid 4, test 4 graphs\n" in output
    size = "2 layers of 16, FFN 16, 2 heads, max_distance 5, key_term neighbour"
    assert f"model: grpe, {size}, {parameters:,} parameters\n" in output
    assert re.search(r"cpu, (1 thread|\d+ threads); everything goes to runs/said\n", output)
    assert "no checkpoint in runs/said to resume from: beginning with the first epoch\n" in output
    assert re.search(r"update 2 of 45, loss \d\.\d{4}, [\d,.]+/s, \d+ s left\n", output)
    assert "stopped early: no better epoch for 1\ndone after " in output
    one = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/one", "--epochs", 1)
    assert "done after 1 epoch, " in one and "stopped early" not in one and "from scratch" not in one
    assert "runs/one is finished already\n" in grpe_in(
        folder, "train", "tiny.yaml", "--out", "runs/one", "--epochs", 1, "--resume"
    )


def test_tensorboard(folder):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    grpe_in(folder, "train", "tiny.yaml", "--out", "runs/board", "--tensorboard")
    board = events.EventAccumulator(str(folder / "runs/board/tensorboard"))
    board.Reload()
    with (folder / "runs/board/metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name in ("train_loss", "valid_mae"):
        points = board.Scalars(name)
        assert [point.step for point in points] == [int(row["updates"]) for row in rows]
        assert [point.value for point in points] == pytest.approx([float(row[name]) for row in rows], rel=1e-5)


def test_variants_make_a_table_beside_the_papers_numbers(folder):
    settings = recipe().to_dict()
    paper = {"table": "t", "metric": "test MAE", "value": "0.1"}
    settings["variants"] = {
        "near": {"overrides": {"model.max_distance": 1}, "paper": paper},
        "plain": {"overrides": {"model.edge_attention": False, "training.epochs": 2}},
    }
    (folder / "variants.yaml").write_text(json.dumps(settings))
    output = grpe_in(folder, "train", "variants.yaml", "--out", "runs/variants")
    assert "runs/variants: compared in runs/variants/table.md; every run's folder has its best.ckpt" in output
    table = (folder / "runs/variants/table.md").read_text().splitlines()
    assert table[0] == "| variant | runs | parameters | train mae | valid mae | test mae | paper |"
    assert table[2].startswith("| near | 1 |") and table[2].endswith("| 0.1 (test MAE) |")
    assert table[3].startswith("| plain | 1 |")
    assert load_checkpoint(folder / "runs/variants/near/seed-0/best.ckpt").recipe.model.max_distance == 1


def test_one_variant(folder):
    settings = recipe().to_dict()
    paper = {"table": "t", "metric": "test MAE", "value": "0.1"}
    settings["variants"] = {"near": {"overrides": {"model.max_distance": 1}, "paper": paper}, "far": {"overrides": {}}}
    (folder / "two.yaml").write_text(json.dumps(settings))
    output = grpe_in(folder, "train", "two.yaml", "--variant", "near")
    assert "| 0.1 (test MAE) |\n" in output and "runs/two_near: best model in runs/two_near/best.ckpt" in output
    saved = load_checkpoint(folder / "runs/two_near/best.ckpt")
    assert saved.recipe.model.max_distance == 1 and not saved.recipe.variants
    assert not (folder / "runs/two_far").exists()


@pytest.mark.parametrize(
    "words, code, message",
    [
        (
            ["train", "zinc_sharing", "--variant", "shred"],
            2,
            "--variant: 'shred' is not a variant of the recipe (did you",
        ),
        (["train", "zinc", "--variant", "a"], 2, "accepted: none, it has no variants"),
        (["train", "recipes/zinc.yaml"], 1, "`grpe preprocess zinc --data data` downloads and makes it"),
        (["train", "elsewhere/zinc.yaml"], 1, "elsewhere/zinc.yaml: there is no such file (zinc is a shipped recipe)"),
        (["train"], 2, "Missing argument 'RECIPE'"),
        (["train", "zink"], 1, "'zink' is not a shipped recipe (did you mean zinc?)"),
        (["train", "no.yaml"], 1, "no.yaml: there is no such file"),
        (["train", "any.yaml"], 2, "fits any dataset: choose one with --dataset NAME"),
        (["train", "any.yaml", "--dataset", "nope"], 1, "data holds nodes, three, tiny"),
        (
            ["train", "any.yaml", "--dataset", "tinny"],
            1,
            "there is no dataset 'tinny' (did you mean tiny?): data/tinny",
        ),
        (
            ["train", "any.yaml", "--dataset", "a/b.csv"],
            1,
            "`grpe preprocess csv a/b.csv --target COLUMN` makes one of",
        ),
        (["train", "any.yaml", "--dataset", "a/b.csv"], 1, "then `--dataset b`"),
        (
            ["train", "tiny.yaml", "--set", "layers=4"],
            1,
            "layers is not a key of a recipe (did you mean model.layers?)",
        ),
        (["train", "tiny.yaml", "--set", "epoch=4"], 1, "(did you mean training.epochs?)"),
        (["train", "tiny.yaml", "--dataset", "nodes"], 2, "is for the dataset tiny; --set dataset=nodes changes that"),
        (["train", "molhiv"], 2, "grpe finetune --from pcqm4m.ckpt molhiv"),
        (["train", "zinc"], 1, "`grpe preprocess zinc --data data` downloads and makes it"),
        (["train", "cluster"], 1, "`grpe preprocess cluster --generate --data data` makes graphs of the same"),
        (["train", "tiny.yaml", "--set", "layers"], 1, "'layers' is not an override; accepted: KEY=VALUE"),
        (["train", "tiny.yaml", "--set", "model.layer=4"], 1, "did you mean model.layers?"),
        (["train", "tiny.yaml", "--set", "training.loss=bce"], 1, "training.loss is 'bce', but the dataset's task is"),
        (
            ["train", "tiny.yaml", "--set", "training.epochs=1"],
            1,
            "training.warmup_epochs is 1; accepted: less than",
        ),
        (["train", "tiny.yaml", "--precision", "fp8"], 1, "training.precision is 'fp8'"),
        (["train", "tiny.yaml", "--max-time", "2"], 2, "a time with its unit, such as 90s, 45m, 2h or 1h30m"),
        (["train", "tiny.yaml", "--device", "tpu3"], 2, "--device tpu3: accepted: auto, cpu, cuda"),
        (["train", "tiny.yaml", "--device", "cuda"], 1, "no CUDA devices found"),
        (["train", "tiny.yaml", "--out", "tiny.yaml"], 1, "tiny.yaml exists and is not a folder"),
        (["train", "tiny.yaml", "--out", "/proc/run"], 1, "/proc/run cannot be written to"),
        (["train", "tiny.yaml", "--out", "data"], 1, "data exists already, and resume is not set; --resume continues"),
        (["train", "tiny.yaml", "--out", "data", "--resume"], 1, "is not the folder of a run: it has no recipe.yaml"),
    ],
)
def test_errors(folder, words, code, message):
    if torch.cuda.is_available() and "cuda" in words:
        pytest.skip("this machine has CUDA")
    assert message in grpe_in(folder, *words, code=code)


def test_variants_that_start_from_a_trained_model_are_not_trained_from_scratch(folder):
    output = grpe_in(folder, "train", "table_molhiv", code=2)
    assert "variants of table_molhiv that start from a trained model (grpe finetune): grpe;" in output
    assert "with --variant: graphnorm, pna," in output
    output = grpe_in(folder, "train", "table_molhiv", "--variant", "grpe", code=2)
    assert "starts from a model trained with pcqm4m:" in output and "table_molhiv --variant grpe" in output
