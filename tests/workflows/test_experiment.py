"""A recipe's runs, trained by a Python program: nothing is printed and the process is not ended."""

import contextlib
import dataclasses
import json
import os

import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.run import Callbacks
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.workflows.experiment import ExperimentCallbacks, _require_shared, run_experiment
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression")


def test_returns_every_run_with_its_results_and_prints_nothing(dataset, tmp_path, capfd):
    out = tmp_path / "out"
    finished = run_experiment(recipe(training__runs=2, training__epochs=2), dataset, out)
    assert [run.planned.folder for run in finished] == [out / "seed-0", out / "seed-1"]
    for run in finished:
        assert run.results == json.loads((run.planned.folder / "results.json").read_text())
        assert run.results["epochs"] == 2 and run.results["splits"]["test"] > 0
    values = [run.results["splits"]["test"] for run in finished]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["rows"][0]["splits"]["test"]["values"] == values and values[0] != values[1]
    assert (out / "table.md").read_text().startswith("| runs | parameters | train mae | valid mae | test mae |\n")
    assert tuple(capfd.readouterr()) == ("", "")


def test_results_say_what_the_run_is_and_whether_its_setting_is_the_papers(dataset, tmp_path):
    number = {"table": "t", "metric": "test MAE", "value": "1"}
    variants = {"a": {"training": {"clip": 2.0}, "paper": number}, "b": {"training": {"clip": 3.0}}}
    written = Recipe.from_dict({**recipe(training__runs=2).to_dict(), "variants": variants})
    changed = written.override({"training.epochs": 2, "training.runs": 1})
    run_experiment(changed, dataset, tmp_path / "out", written=written, name="mine", differs=("x",))
    first, second = (
        json.loads((tmp_path / "out" / name / "seed-0" / "results.json").read_text()) for name in ("a", "b")
    )
    assert (first["recipe"], first["variant"], second["variant"]) == ("mine", "a", "b")
    assert first["paper"] == dataclasses.asdict(written.variants["a"].paper) and second["paper"] is None
    # how many runs the mean is of is not a property of one run
    assert first["setting"] == {"differs": ["training.epochs 2 instead of 3", "x"], "runs": 2}
    assert second["setting"] is None


def test_callbacks_come_in_order(dataset, tmp_path):
    calls = []

    @contextlib.contextmanager
    def around(planned, data):
        calls.append(("enter", planned.title, data.view.max_distance))
        yield Callbacks(epoch=lambda row, is_best: calls.append(("epoch", row["epoch"])))
        calls.append(("leave", planned.title))

    callbacks = ExperimentCallbacks(
        start=lambda data: calls.append(("start", len(data.train), (tmp_path / "out/recipe.yaml").exists())),
        run=around,
        finish=lambda finished: calls.append(("finish", finished.planned.title, finished.results["epochs"])),
    )
    chosen = recipe(training__runs=2, training__epochs=2, model__max_distance=3)
    run_experiment(chosen, dataset, tmp_path / "out", callbacks=callbacks)
    one = [("epoch", 1), ("epoch", 2)]
    assert calls == [
        ("start", 20, True),
        ("enter", "seed 0", 3), *one, ("leave", "seed 0"), ("finish", "seed 0", 2),
        ("enter", "seed 1", 3), *one, ("leave", "seed 1"), ("finish", "seed 1", 2),
    ]  # fmt: skip


def test_stopped_and_resumed_it_gives_the_same_weights(dataset, tmp_path):
    whole = run_experiment(recipe(), dataset, tmp_path / "whole")
    with pytest.raises(Stopped):
        run_experiment(recipe(), dataset, tmp_path / "parts", stop=StopRequest(0.0))
    with pytest.raises(InputError, match="parts exists already, and resume is not set") as refused:
        run_experiment(recipe(), dataset, tmp_path / "parts")
    assert refused.value.hint == "resume_run"
    with pytest.raises(InputError, match=r"training.epochs is 3 there, 9 was asked for"):
        run_experiment(recipe(training__epochs=9), dataset, tmp_path / "parts", resume=True)
    resumed = run_experiment(recipe(), dataset, tmp_path / "parts", resume=True)
    assert resumed[0].results["splits"] == whole[0].results["splits"]
    first, second = (load_checkpoint(tmp_path / name / "last.ckpt").weights for name in ("whole", "parts"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_finished_runs_are_read_not_trained_again(dataset, tmp_path):
    chosen = recipe(training__epochs=2)
    first = run_experiment(chosen, dataset, tmp_path / "out")
    before = (tmp_path / "out/last.ckpt").stat().st_mtime_ns
    assert run_experiment(chosen, dataset, tmp_path / "out", resume=True) == first
    assert (tmp_path / "out/last.ckpt").stat().st_mtime_ns == before


def test_a_start_fills_every_new_model(dataset, tmp_path):
    def start(model):
        torch.nn.init.zeros_(model.head[-1].weight)
        return {"started_from": "zeros"}

    run_experiment(recipe(training__freeze_encoder=True, training__learning_rate=1e-9), dataset, tmp_path, start=start)
    saved = load_checkpoint(tmp_path / "best.ckpt")
    assert saved.provenance == {"started_from": "zeros"}
    assert saved.weights["head.0.weight"].abs().max() < 1e-6


def test_bad_input_is_refused_before_a_folder_is_made(tmp_path):
    blank = write_dataset(tmp_path / "blank", "binary", valid_labels=1.0)
    with pytest.raises(InputError, match="rocauc cannot select the best epoch") as refused:
        run_experiment(recipe(), blank, tmp_path / "out")
    assert refused.value.hint == "other_metric" and not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="is not a dataset: found no folder$"):
        run_experiment(recipe(), tmp_path / "nowhere", tmp_path / "out")


def test_torchrun_continues_what_it_began_and_nothing_else(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    whole, out = tmp_path / "whole", tmp_path / "out"
    run_experiment(recipe(), dataset, whole)
    assert not (whole / ".torchrun").exists()

    def fail(row, is_best):
        raise RuntimeError("lost")

    callbacks = ExperimentCallbacks(run=lambda planned, data: contextlib.nullcontext(Callbacks(epoch=fail)))
    with pytest.raises(RuntimeError, match="lost"):
        run_experiment(recipe(), dataset, out, callbacks=callbacks)
    another = os.getppid() + 1  # not 1: that is the parent of a test whose shell has ended
    with monkeypatch.context() as other:
        other.setattr("os.getppid", lambda: another)
        with pytest.raises(InputError, match="exists already, and resume is not set"):
            run_experiment(recipe(), dataset, out)
    updates = []
    start = Callbacks(start=lambda epochs, update, total: updates.append(update))
    run_experiment(
        recipe(),
        dataset,
        out,
        callbacks=ExperimentCallbacks(run=lambda planned, data: contextlib.nullcontext(start)),
    )
    assert updates == [5]
    with pytest.raises(InputError, match="exists already, and resume is not set"):  # it is finished
        run_experiment(recipe(), dataset, out)
    saved = [load_checkpoint(folder / "last.ckpt").weights for folder in (whole, out)]
    assert all(torch.equal(saved[0][name], saved[1][name]) for name in saved[0])


def test_a_folder_that_another_machine_does_not_see(tmp_path, monkeypatch):
    class TwoMachines(Processes):
        def gather(self, rows):
            return [rows, torch.tensor([True])]

    monkeypatch.setattr("grpe_dgl.workflows.experiment.SECONDS_TO_APPEAR", 0)
    (tmp_path / "recipe.yaml").touch()
    with pytest.raises(
        InputError, match="recipe.yaml of process 0 is missing in process 1; accepted: a folder that all"
    ):
        _require_shared(tmp_path, TwoMachines(world_size=2))
