import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.training.evaluation import batch_of_rows, measure, predict_split
from grpe_dgl.training.loss_window import DivergedError
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.stop_request import Stopped, StopRequest
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module", params=["regression", "binary", "multiclass"])
def data(request, tmp_path_factory):
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", request.param))


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression"))


def rows_of(folder):
    return list(csv.DictReader((folder / "metrics.csv").read_text().splitlines()))


def weights(folder, file="last.ckpt"):
    return load_checkpoint(folder / file).weights


def assert_equal_weights(a, b):
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


class Stop(StopRequest):
    """Asks to stop after so many updates."""

    def __init__(self, updates):
        super().__init__()
        self.left = updates

    @property
    def asked(self):
        self.left -= 1
        return self.left == 0


def test_folder_holds_everything(data, tmp_path):
    results = run(recipe(), data, tmp_path / "run")
    names = {"recipe.yaml", "metrics.csv", "best.ckpt", "last.ckpt", "results.json", "curves.png"}
    names |= {"predictions_valid.npz", "predictions_test.npz"}
    names |= set() if data.task.kind == "multiclass" else {"predictions.png"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == names
    rows = rows_of(tmp_path / "run")
    assert [row["epoch"] for row in rows] == ["1", "2", "3"] and [row["updates"] for row in rows] == ["5", "10", "15"]
    assert json.loads((tmp_path / "run" / "results.json").read_text()) == results
    assert results["epochs"] == 3 and results["metric"] == data.task.metric
    assert set(results["splits"]) == {"train", "valid", "test"} and all(map(math.isfinite, results["splits"].values()))


def test_predictions_are_those_of_the_best_model_beside_the_labels(data, tmp_path):
    """Read with numpy alone: the metric of the arrays is that of results.json, the labels those of the rows' graphs."""
    results = run(recipe(), data, tmp_path)
    for name in ("valid", "test"):
        with np.load(tmp_path / f"predictions_{name}.npz", allow_pickle=False) as arrays:
            index, predictions, labels = arrays["index"], arrays["predictions"], arrays["labels"]
            nodes = arrays["node"] if "node" in arrays.files else None
        assert (nodes is None) == (data.task.level == "graph")
        split = data[name]
        assert measure(
            results["metric"], torch.from_numpy(predictions), torch.from_numpy(labels), batch_of_rows(split, 4)
        ) == pytest.approx(results["splits"][name], rel=1e-6)
        if nodes is None:
            assert list(index) == list(split.index)
            expected = [data.batch([number]).label[0].numpy() for number in index]
        else:
            assert len(set(zip(index, nodes, strict=True))) == len(index) == len(split.labels())
            expected = [data.graph(number).ndata["label"][n].numpy() for number, n in zip(index, nodes, strict=True)]
        np.testing.assert_array_equal(labels, np.array(expected))


def test_results_record_what_a_comparison_needs(data, tmp_path):
    results = run(recipe(), data, tmp_path, about={"recipe": "mine", "variant": None})
    assert results["recipe"] == "mine" and results["model"]["name"] == "grpe"
    assert results["seconds_per_epoch"] == pytest.approx(results["seconds"] / 3)
    assert results["hardware"]["threads"] == torch.get_num_threads() and results["hardware"]["processor"]
    assert results["versions"]["torch"] == torch.__version__
    assert results["data"]["arrays"] == load_checkpoint(tmp_path / "best.ckpt").data_identity.arrays
    assert results["data"]["graphs"] == {"train": 20, "valid": 4, "test": 4}
    assert Path(results["data"]["folder"]) == data.store.path.resolve()
    assert results["data"]["task"]["kind"] == data.task.kind
    # torch alone takes more than 100 MB
    assert 1e8 < results["peak_memory_bytes"] < 1e12 and results["peak_memory"]["of"] == "process"
    assert max(int(row["peak_memory_bytes"]) for row in rows_of(tmp_path)) <= results["peak_memory_bytes"]


def test_a_run_that_an_earlier_version_began_is_resumed_twice(regression, tmp_path):
    """Its history has no column of the memory: the rows of one history must have the same columns."""
    with pytest.raises(Stopped):
        run(recipe(), regression, tmp_path, stop=Stop(7))
    saved = load_checkpoint(tmp_path / "last.ckpt")
    for row in saved.training["history"]:
        del row["peak_memory_bytes"]
    saved.save(tmp_path / "last.ckpt")
    with pytest.raises(Stopped):
        run(recipe(), regression, tmp_path, stop=Stop(5))
    assert run(recipe(), regression, tmp_path)["epochs"] == 3
    assert [row["peak_memory_bytes"] == "" for row in rows_of(tmp_path)] == [True, False, False]


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_damaged_results_are_an_input_error(regression, tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(InputError, match="results.json is damaged"):
        run(recipe(), regression, tmp_path)


def test_same_seed_same_numbers(data, tmp_path):
    for name in ("a", "b"):
        run(recipe(), data, tmp_path / name)
    assert_equal_weights(weights(tmp_path / "a"), weights(tmp_path / "b"))
    run(recipe(training__seed=1), data, tmp_path / "c")
    assert not torch.equal(weights(tmp_path / "a")["virtual_node"], weights(tmp_path / "c")["virtual_node"])


@pytest.mark.parametrize("updates", [1, 5, 7, 10, 14])
def test_stopped_and_resumed_equals_uninterrupted(regression, tmp_path, updates):
    whole = run(recipe(), regression, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(recipe(), regression, tmp_path / "parts", stop=Stop(updates))
    assert load_checkpoint(tmp_path / "parts" / "last.ckpt").training["update"] == updates
    torch.manual_seed(12345)  # whatever the next process's random state is
    parts = run(recipe(), regression, tmp_path / "parts")
    for file in ("last.ckpt", "best.ckpt"):
        assert_equal_weights(weights(tmp_path / "whole", file), weights(tmp_path / "parts", file))
    assert parts["splits"] == whole["splits"]
    losses = [[row["train_loss"] for row in rows_of(tmp_path / name)] for name in ("whole", "parts")]
    assert losses[0] == losses[1]


def test_a_finished_run_is_only_read(regression, tmp_path):
    first = run(recipe(), regression, tmp_path)
    before = (tmp_path / "last.ckpt").stat().st_mtime_ns
    assert run(recipe(), regression, tmp_path) == first
    assert (tmp_path / "last.ckpt").stat().st_mtime_ns == before


def test_another_recipe_cannot_resume(regression, tmp_path):
    with pytest.raises(Stopped):
        run(recipe(), regression, tmp_path, stop=Stop(2))
    with pytest.raises(InputError, match="training.learning_rate is 0.01 there, 0.02 was asked for"):
        run(recipe(training__learning_rate=0.02), regression, tmp_path)


def test_best_model_is_the_one_with_the_best_validation_metric(regression, tmp_path):
    run(recipe(training__epochs=6), regression, tmp_path)
    rows = rows_of(tmp_path)
    best = min(range(6), key=lambda epoch: float(rows[epoch]["valid_mae"]))
    saved = load_checkpoint(tmp_path / "best.ckpt")
    assert saved.metrics["epoch"] == best + 1 and saved.training is None
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["splits"]["valid"] == pytest.approx(float(rows[best]["valid_mae"]), rel=1e-6)


def test_early_stopping(regression, tmp_path):
    # with a learning rate of nearly nothing the first epoch stays the best, or nearly so
    results = run(
        recipe(training__epochs=30, training__early_stopping=2, training__learning_rate=0.5), regression, tmp_path
    )
    assert results["epochs"] == results["best_epoch"] + 2 < 30


def test_evaluate_every(regression, tmp_path):
    run(recipe(training__epochs=4, training__evaluate_every=3), regression, tmp_path)
    measured = [row["valid_mae"] != "" for row in rows_of(tmp_path)]
    assert measured == [False, False, True, True]  # the last epoch always


def test_predictions_are_in_the_targets_unit(regression, tmp_path):
    """Labels are 100 to 260: only in that unit can the error on what it was trained on be a few."""
    run(recipe(training__epochs=40, model__dropout=0.0, model__input_noise=0.0), regression, tmp_path)
    saved = load_checkpoint(tmp_path / "last.ckpt")
    predictions = predict_split(saved.model(), regression.train, saved.schema, batch_size=7)
    labels = regression.train.labels()
    assert labels.std() > 15 and (predictions - labels).abs().mean() < 5


def test_a_loss_that_is_not_a_number_stops_and_keeps_the_last_checkpoint(regression, tmp_path):
    seen = []

    def poison(update, updates, loss, rate):
        if update == 7:
            model = seen[0]
            with torch.no_grad():
                model.virtual_node.fill_(float("nan"))

    def start(model):
        seen.append(model)
        return {}

    with pytest.raises(DivergedError, match=r"the loss is nan at update 7; .* dataset indices \[(\d+, ){3}\d+\]"):
        run(recipe(), regression, tmp_path, start=start, callbacks=Callbacks(step=poison))
    saved = load_checkpoint(tmp_path / "last.ckpt")
    assert saved.training["update"] == 5
    assert all(torch.isfinite(tensor).all() for tensor in saved.weights.values())


def test_bf16_trains(data, tmp_path):
    results = run(recipe(training__precision="bf16"), data, tmp_path)
    assert all(map(math.isfinite, results["splits"].values()))


@pytest.mark.parametrize("backend", ["dgl", "dense", "fused"])
def test_every_backend_gives_the_same_losses(regression, tmp_path, backend):
    quiet = recipe(model__dropout=0.0, model__attention_dropout=0.0, model__input_noise=0.0)
    losses = []
    run(
        quiet,
        regression,
        tmp_path,
        backend=backend,
        callbacks=Callbacks(step=lambda u, n, loss, rate: losses.append(loss)),
    )
    reference = []
    callbacks = Callbacks(step=lambda u, n, loss, rate: reference.append(loss))
    run(quiet, regression, tmp_path / "auto", callbacks=callbacks)
    assert losses == pytest.approx(reference, rel=1e-3)


def test_overfits_a_tiny_set(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "data", "multiclass", count=20))
    losses = []
    run(
        recipe(training__epochs=60, training__batch_size=12, model__dropout=0.0, model__attention_dropout=0.0,
               model__input_noise=0.0, model__hidden_size=32),
        data,
        tmp_path / "run",
        callbacks=Callbacks(epoch=lambda row, is_best: losses.append(row["train_loss"])),
    )  # fmt: skip
    assert losses[0] > 0.8 and losses[-1] < 0.1
