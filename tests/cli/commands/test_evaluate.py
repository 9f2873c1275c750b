import json

import numpy as np
import pytest
import torch

from tests.cli.invoke import grpe_in
from tests.training.tiny import write_dataset


@pytest.fixture(scope="module")
def checkpoint(folder):
    grpe_in(folder, "train", "tiny.yaml", "--out", "runs/tiny")
    return "runs/tiny/best.ckpt"


def test_measures_what_training_measured(folder, checkpoint):
    results = json.loads((folder / "runs/tiny/results.json").read_text())
    measured = json.loads(grpe_in(folder, "evaluate", checkpoint, "--json", "--metric", "mae", "--metric", "rmse"))
    assert measured["mae"] == pytest.approx(results["splits"]["test"], rel=1e-5) and measured["rmse"] > measured["mae"]
    output = grpe_in(folder, "evaluate", "runs/tiny", "--split", "train", "--batch-size", 3)  # the folder of the run
    assert output.startswith("tiny train (20 labels): mae ")


def test_by_target_and_with_other_names(folder):
    write_dataset(folder / "more" / "others", "binary", targets=("a", "c", "d"))
    grpe_in(folder, "train", "any.yaml", "--dataset", "three", "--epochs", 1, "--out", "runs/three")
    words = ("evaluate", "runs/three/best.ckpt", "--split", "valid")
    measured = json.loads(grpe_in(folder, *words, "--json"))
    parts = measured["per_target"]
    assert list(parts) == ["a", "b", "c"] and parts["b"] == {"rocauc": None}
    assert measured["rocauc"] == pytest.approx((parts["a"]["rocauc"] + parts["c"]["rocauc"]) / 2)
    output = grpe_in(folder, *words)
    assert f"\n  a: rocauc {100 * parts['a']['rocauc']:.3f} %\n" in output and "warning" not in output
    assert "\n  b: rocauc undefined (it needs labels of both classes)\n" in output
    output = grpe_in(folder, *words, "--data", "more", "--dataset", "others")
    assert "warning: the model predicts the targets a, b, c; more/others has a, c, d: they are compared" in output
    assert "others valid (12 labels of 4 graphs): rocauc" in output


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{checkpoint}", "--metric", "ap"], 2, "--metric ap: accepted for regression: mae, rmse"),
        (["{checkpoint}", "--split", "dev"], 1, "it has train, valid, test"),
        (["{checkpoint}", "--dataset", "nodes"], 1, "the task's level is 'graph' for the model, 'node' there"),
        (["{checkpoint}", "--dataset", "nowhere"], 1, "there is no dataset 'nowhere'"),
        (["{checkpoint}", "--submission", "sub"], 1, "there is no submission for the split test of tiny"),
        (["{checkpoint}", "--batch-size", "0"], 2, "0 is not in the range x>=1"),
        (["{checkpoint}", "--device", "tpu"], 2, "--device tpu: accepted: auto, cpu, cuda"),
        (["tiny.yaml"], 1, "tiny.yaml is not a checkpoint"),
        (["no.ckpt"], 1, "no.ckpt cannot be read: No such file"),
        (["data"], 1, "data is a folder without a trained model; accepted: a checkpoint, or a run's folder"),
        ([], 2, "Missing argument 'CKPT"),
    ],
)
def test_errors(folder, checkpoint, words, code, message):
    words = [word.format(checkpoint=checkpoint) for word in words]
    assert message in grpe_in(folder, "evaluate", *words, code=code)


def test_a_split_without_labels(folder, checkpoint):
    write_dataset(folder / "blank" / "tiny", "regression", valid_labels=[[np.nan]] * 4)
    output = grpe_in(folder, "evaluate", checkpoint, "--data", "blank", "--split", "valid", code=1)
    assert "the split valid of blank/tiny has no labels; accepted: a split with labels; or --submission DIR" in output


def test_the_authors_weights_are_not_a_checkpoint(folder):
    torch.save({"layers.0.self_attention.linear_q.weight": torch.zeros(1)}, folder / "weights of.pt")
    output = grpe_in(folder, "evaluate", "weights of.pt", code=1)
    assert "`grpe import 'weights of.pt' --heads HEADS --dataset DATASET --out CKPT` makes a checkpoint" in output


def test_a_dataset_that_was_split_again(folder, tmp_path):
    table = tmp_path / "own.csv"
    table.write_text("smiles,y\n" + "\n".join(f"{'C' * n}O,{n}.5\n{'C' * n}N,{n}.25" for n in range(1, 31)))
    make = ("preprocess", "csv", "own.csv", "--target", "y", "--force", "--seed")
    sizes = [f"model.{key}={value}" for key, value in (("layers", 1), ("hidden_size", 8), ("ffn_size", 8))]
    small = [word for size in (*sizes, "model.num_heads=2") for word in ("--set", size)]
    train = ("train", "property", "--dataset", "own", "--epochs", 2, *small, "--out", "run")
    grpe_in(tmp_path, *make, 0)
    grpe_in(tmp_path, *train, "--max-time", "0.001s")
    same = grpe_in(tmp_path, "evaluate", "run/last.ckpt")
    assert same.startswith("own test (6 ") and "warning" not in same
    grpe_in(tmp_path, *make, 3)
    refused = grpe_in(tmp_path, "evaluate", "run/last.ckpt", code=1)
    assert "data/own is not the data the model was trained on, and " in refused and "--allow-overlap" in refused
    assert "own test (6 " in grpe_in(tmp_path, "evaluate", "run/last.ckpt", "--allow-overlap")
    assert "own train (48 " in grpe_in(tmp_path, "evaluate", "run/last.ckpt", "--split", "train")
    refused = grpe_in(tmp_path, *train, "--resume", code=1)
    assert "run/last.ckpt was trained on other data: " in refused
    assert "the splits test, train, valid of data/own changed since" in refused
