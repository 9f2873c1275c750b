import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch
from click.testing import CliRunner

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.training.schedule import Schedule
from grpe_dgl_cli.commands.train import overrides_of
from grpe_dgl_cli.main import main
from grpe_dgl_cli.support import run_display
from grpe_dgl_cli.support.run_display import curve
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data/tiny (regression), data/nodes (multiclass), tiny.yaml and any.yaml."""
    folder = tmp_path_factory.mktemp("train")
    write_dataset(folder / "data" / "tiny", "regression")
    write_dataset(folder / "data" / "nodes", "multiclass")
    (folder / "tiny.yaml").write_text(recipe().to_yaml())
    (folder / "any.yaml").write_text(recipe(dataset=None).to_yaml())
    return folder


def grpe(folder, *words, code=0):
    os.chdir(folder)
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(autouse=True)
def back_home():
    home = os.getcwd()
    yield
    os.chdir(home)


def test_train_then_evaluate(folder):
    output = grpe(folder, "train", "tiny.yaml", "--out", "runs/first")
    assert "epoch   3  loss" in output and "best model in runs/first/best.ckpt" in output
    results = json.loads((folder / "runs/first/results.json").read_text())
    output = grpe(folder, "evaluate", "runs/first/best.ckpt", "--json", "--metric", "mae", "--metric", "rmse")
    measured = json.loads(output)
    assert measured["mae"] == pytest.approx(results["splits"]["test"], rel=1e-5) and measured["rmse"] > measured["mae"]
    assert "tiny train (20 graphs): mae" in grpe(folder, "evaluate", "runs/first/best.ckpt", "--split", "train")


def test_runs_and_options_land_in_the_recipe(folder):
    output = grpe(folder, "train", "any.yaml", "--dataset", "tiny", "--runs", 2, "--seed", 5, "--epochs", 2,
                  "--set", "model.layers=1", "--out", "runs/two")  # fmt: skip
    for seed in (5, 6):
        saved = load_checkpoint(folder / f"runs/two/seed-{seed}/best.ckpt")
        assert saved.recipe.training.seed == seed and saved.recipe.training.epochs == 2
        assert saved.recipe.model.layers == 1 and saved.recipe.dataset == "tiny"
    assert "| runs | valid mae | test mae |\n" in output
    summary = json.loads((folder / "runs/two/summary.json").read_text())
    values = summary["rows"][0]["splits"]["test"]["values"]
    assert summary["rows"][0]["splits"]["test"]["mean"] == pytest.approx(sum(values) / 2)
    assert "±" in (folder / "runs/two/table.md").read_text()


@pytest.mark.parametrize("name", [*shipped_recipes()])
@pytest.mark.parametrize("epochs", [1, 2, 7])
def test_epochs_alone_shortens_every_shipped_recipe(name, epochs):
    training = load_recipe(name).to_dict()["training"]
    changed = load_recipe(name, overrides_of((), training, epochs=epochs)).training
    assert changed.epochs == epochs and changed.stop_after_epochs is None
    assert Schedule.of(changed, steps_per_epoch=3).last_update == 3 * epochs


def test_epochs_says_what_becomes_of_the_warmup(folder, capsys):
    training = load_recipe("property").to_dict()["training"]
    assert overrides_of((), training, epochs=3) == {"training.epochs": 3, "training.warmup_epochs": 0}
    assert capsys.readouterr().out == "warm-up: 0 epochs instead of 5, as --epochs is 3\n"
    assert overrides_of((), training, epochs=40)["training.warmup_epochs"] == 2
    assert overrides_of((), training, epochs=100) == {"training.epochs": 100}
    molhiv = load_recipe("molhiv").to_dict()["training"]
    capsys.readouterr()
    overrides_of((), molhiv, epochs=2)
    assert capsys.readouterr().out == "warm-up: 0 epochs instead of 3; no end after 5 epochs, as --epochs is 2\n"
    overrides_of((), load_recipe("zinc").to_dict()["training"], epochs=20)
    assert capsys.readouterr().out == "warm-up: 2 epochs instead of 40,000 updates, as --epochs is 20\n"
    own = overrides_of(("training.warmup_updates=7", "training.stop_after_epochs=1"), molhiv, epochs=2)
    assert own == {"training.epochs": 2, "training.warmup_updates": 7, "training.stop_after_epochs": 1}
    assert capsys.readouterr().out == ""
    strict = grpe(folder, "train", "tiny.yaml", "--set", "training.epochs=1", "--out", "runs/never", code=1)
    assert "training.warmup_epochs is 1; accepted: less than training.epochs, which is 1" in strict


def test_a_validation_split_that_cannot_judge_is_refused_before_training(folder):
    write_dataset(folder / "more" / "unjudged", "binary", valid_labels=[[0, 0, 0]] * 4)
    write_dataset(folder / "more" / "invalid", "regression", num_valid=0)
    words = ("train", "any.yaml", "--out", "runs/unjudged", "--data", "more", "--dataset")
    output = grpe(folder, *words, "unjudged", code=1)
    assert (
        "rocauc cannot select the best epoch: in the split valid of more/unjudged (4 graphs) no target has labels"
        in output
    )
    assert "--set training.metric=accuracy" in output and not (folder / "runs/unjudged").exists()
    assert "more/invalid has no graphs in the split valid" in grpe(folder, *words, "invalid", code=1)
    grpe(folder, *words, "unjudged", "--set", "training.metric=accuracy")


def test_a_curve_without_numbers(tmp_path):
    (tmp_path / "metrics.csv").write_text("epoch,valid_ap\n1,nan\n2,\n")
    assert "valid ap: not to be measured in any epoch" in curve(tmp_path, "ap")
    (tmp_path / "metrics.csv").write_text("epoch,valid_ap\n1,nan\n2,0.5\n")
    assert "50.000 % ▁ 50.000 %" in curve(tmp_path, "ap")


def test_says_what_is_trained_and_how_it_ended(folder, monkeypatch):
    monkeypatch.setattr(run_display, "SECONDS_BETWEEN_LINES", 0.0)
    words = ("train", "tiny.yaml", "--out", "runs/said", "--set", "training.early_stopping=1", "--epochs", 9)
    output = grpe(folder, *words, "--learning-rate", 1e-8, "--resume")
    parameters = json.loads((folder / "runs/said/results.json").read_text())["parameters"]
    assert "data: tiny, train 20, valid 4, test 4 graphs\n" in output
    size = "2 layers of 16, FFN 16, 2 heads, max_distance 5, key_term neighbour"
    assert f"model: grpe, {size}, {parameters:,} parameters\n" in output
    assert re.search(r"cpu, (1 thread|\d+ threads); everything goes to runs/said\n", output)
    assert "nothing is saved in runs/said yet to go on from: starting anew\n" in output
    assert re.search(r"update 2 of 45, loss \d\.\d{4}, [\d,.]+/s, \d+ s left\n", output)
    assert "stopped early: no better epoch for 1\ndone after " in output
    one = grpe(folder, "train", "tiny.yaml", "--out", "runs/one", "--epochs", 1)
    assert "done after 1 epoch, " in one and "stopped early" not in one and "starting anew" not in one
    assert "runs/one is done already\n" in grpe(
        folder, "train", "tiny.yaml", "--out", "runs/one", "--epochs", 1, "--resume"
    )


def test_tensorboard(folder):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    grpe(folder, "train", "tiny.yaml", "--out", "runs/board", "--tensorboard")
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
    output = grpe(folder, "train", "variants.yaml", "--out", "runs/variants")
    assert "runs/variants: compared in runs/variants/table.md; every run's folder has its best.ckpt" in output
    table = (folder / "runs/variants/table.md").read_text().splitlines()
    assert table[0] == "| variant | runs | valid mae | test mae | paper |"
    assert table[2].startswith("| near | 1 |") and table[2].endswith("| 0.1 (test MAE) |")
    assert table[3].startswith("| plain | 1 |")
    assert load_checkpoint(folder / "runs/variants/near/seed-0/best.ckpt").recipe.model.max_distance == 1


def test_existing_folder_and_resume(folder):
    grpe(folder, "train", "tiny.yaml", "--out", "runs/again")
    output = grpe(folder, "train", "tiny.yaml", "--out", "runs/again", code=1)
    assert "runs/again exists already; --resume goes on with it" in output
    assert "done after 3 epochs" in grpe(folder, "train", "tiny.yaml", "--out", "runs/again", "--resume")
    output = grpe(folder, "train", "tiny.yaml", "--out", "runs/again", "--resume", "--epochs", 9, code=1)
    assert "training.epochs is 3 there, 9 was asked for" in output


def test_max_time_saves_and_says_how_to_go_on(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["grpe", "train", "tiny.yaml", "--out", "runs/short", "--max-time", "0.001s"])
    output = grpe(folder, *sys.argv[1:])
    assert "the time is up; everything is saved in runs/short" in output
    assert "grpe train tiny.yaml --out runs/short --max-time 0.001s --resume" in output
    output = grpe(folder, "train", "tiny.yaml", "--out", "runs/short", "--resume")
    assert "going on after update 1 of 15, 0 epochs done\n" in output and "done after 3 epochs" in output


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["train"], 2, "Missing argument 'RECIPE'"),
        (["train", "zink"], 1, "'zink' is not a shipped recipe (did you mean zinc?)"),
        (["train", "no.yaml"], 1, "no.yaml: there is no such file"),
        (["train", "any.yaml"], 2, "fits any dataset: say which with --dataset NAME"),
        (["train", "any.yaml", "--dataset", "nope"], 1, "data holds nodes, tiny"),
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
        (["train", "cluster"], 1, "grpe preprocess cluster --generate"),
        (["train", "tiny.yaml", "--set", "model.layer=4"], 1, "did you mean model.layers?"),
        (["train", "tiny.yaml", "--set", "training.loss=bce"], 1, "training.loss is 'bce', but the dataset's task is"),
        (["train", "tiny.yaml", "--precision", "fp8"], 1, "training.precision is 'fp8'"),
        (["train", "tiny.yaml", "--max-time", "2"], 2, "a time with its unit, such as 90s, 45m, 2h or 1h30m"),
        (["train", "tiny.yaml", "--device", "tpu3"], 2, "--device tpu3: accepted: auto, cpu, cuda"),
        (["train", "tiny.yaml", "--device", "cuda"], 1, "torch finds no CUDA devices here"),
        (["train", "tiny.yaml", "--out", "tiny.yaml"], 1, "tiny.yaml exists and is not a folder"),
        (["train", "tiny.yaml", "--out", "/proc/run"], 1, "/proc/run cannot be written to"),
        (["evaluate", "tiny.yaml"], 1, "tiny.yaml is not a checkpoint"),
        (["evaluate", "no.ckpt"], 1, "no.ckpt cannot be read: No such file"),
    ],
)
def test_mistakes(folder, words, code, message):
    if torch.cuda.is_available() and "cuda" in words:
        pytest.skip("this machine has CUDA")
    assert message in grpe(folder, *words, code=code)


def test_evaluate_by_target_and_other_names(folder):
    write_dataset(folder / "more" / "three", "binary", valid_labels=[[0, 1, 0], [1, 1, 1]] * 2)
    write_dataset(folder / "more" / "others", "binary", targets=("a", "c", "d"))
    grpe(folder, "train", "any.yaml", "--data", "more", "--dataset", "three", "--epochs", 1, "--out", "runs/three")
    words = ("evaluate", "runs/three/best.ckpt", "--data", "more", "--split", "valid")
    measured = json.loads(grpe(folder, *words, "--json"))
    parts = measured["per_target"]
    assert list(parts) == ["a", "b", "c"] and parts["b"] == {"rocauc": None}
    assert measured["rocauc"] == pytest.approx((parts["a"]["rocauc"] + parts["c"]["rocauc"]) / 2)
    output = grpe(folder, *words)
    assert f"\n  a: rocauc {100 * parts['a']['rocauc']:.3f} %\n" in output and "warning" not in output
    assert "\n  b: rocauc undefined (it needs labels of both classes)\n" in output
    output = grpe(folder, *words, "--dataset", "others")
    assert "warning: the model predicts the targets a, b, c; more/others has a, c, d: they are compared" in output
    assert "others valid (4 graphs): rocauc" in output


def test_evaluate_mistakes(folder):
    grpe(folder, "train", "tiny.yaml", "--out", "runs/judged", "--epochs", 2)
    checkpoint = "runs/judged/best.ckpt"
    assert "accepted for regression: mae, rmse" in grpe(folder, "evaluate", checkpoint, "--metric", "ap", code=2)
    assert "it has train, valid, test" in grpe(folder, "evaluate", checkpoint, "--split", "dev", code=1)
    output = grpe(folder, "evaluate", checkpoint, "--dataset", "nodes", code=1)
    assert "the task's level is 'graph' for the model, 'node' there" in output
    output = grpe(folder, "evaluate", checkpoint, "--submission", "sub", code=1)
    assert "there is no submission for the split test of tiny" in output


def spawn(folder, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "grpe_dgl", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LONG = ("--epochs", "40", "--set", "training.warmup_epochs=1")


@pytest.fixture(scope="module")
def uninterrupted(folder):
    child = spawn(folder, "train", "tiny.yaml", "--out", "runs/long", *LONG)
    assert child.communicate(timeout=300) and child.returncode == 0
    return load_checkpoint(folder / "runs/long/last.ckpt").weights


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(folder, uninterrupted):
    random.seed(0)
    for attempt in range(3):
        child = spawn(folder, "train", "tiny.yaml", "--out", "runs/killed", *LONG, *(["--resume"] if attempt else []))
        _wait_for(folder / "runs/killed/last.ckpt", child)
        time.sleep(random.uniform(0, 1.5))
        child.kill()
        child.communicate()
    child = spawn(folder, "train", "tiny.yaml", "--out", "runs/killed", *LONG, "--resume")
    child.communicate(timeout=300)
    assert child.returncode == 0
    resumed = load_checkpoint(folder / "runs/killed/last.ckpt").weights
    assert all(torch.equal(resumed[name], uninterrupted[name]) for name in uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_and_say_how_to_go_on(folder, uninterrupted, number, code):
    out = f"runs/signal-{code}"
    child = spawn(folder, "train", "tiny.yaml", "--out", out, *LONG)
    _wait_for(folder / out / "last.ckpt", child)
    child.send_signal(number)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == code
    assert "interrupted; everything is saved" in errors and "--resume" in errors and "Traceback" not in errors
    child = spawn(folder, "train", "tiny.yaml", "--out", out, *LONG, "--resume")
    child.communicate(timeout=300)
    resumed = load_checkpoint(folder / out / "last.ckpt").weights
    assert all(torch.equal(resumed[name], uninterrupted[name]) for name in uninterrupted)


def _wait_for(path, child):
    """Wait until a file is there; the child must still be running then."""
    for _ in range(1200):
        if path.exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    assert child.poll() is None, child.communicate()
