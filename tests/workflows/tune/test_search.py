import csv
import json
import os

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.io.lock import try_lock
from grpe_dgl.recipe import load_recipe
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.workflows.tune import study as study_module
from grpe_dgl.workflows.tune import tune
from tests.training.tiny import recipe, write_dataset

optuna = pytest.importorskip("optuna")
SEARCH = {"training.learning_rate": {"low": 1e-3, "high": 1e-1, "log": True}, "model.layers": [1, 2]}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression")


def small(**changes):
    return recipe(**{"search": SEARCH, "training__epochs": 2, **changes})


def test_a_search_its_best_recipe_and_its_picture(dataset, tmp_path):
    out, seen = tmp_path / "out", []
    found = tune(small(), dataset, out, trials=5, after_trial=seen.append)
    assert [trial.number for trial in seen] == [0, 1, 2, 3, 4] and found.finished == 5
    values = [trial.value for trial in seen if trial.state == "complete"]
    assert (
        found.best.value == min(values) and [trial for trial in seen if trial.is_best][-1].number == found.best.number
    )
    best = load_recipe(out / "best.yaml")
    assert best.training.learning_rate == pytest.approx(found.best.values["training.learning_rate"], rel=1e-4)
    assert best.model.layers == found.best.values["model.layers"] and not best.search
    assert set(found.importances) <= set(SEARCH) and sum(found.importances.values()) == pytest.approx(1)
    assert found.picture.read_bytes().startswith(b"\x89PNG")
    with (out / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["trial"] for row in rows] == list("01234")
    assert not list(out.glob("trials/*/last.ckpt")) and (out / "trials/0000/best.ckpt").exists()
    again = tune(small(), dataset, out, trials=5, resume=True)  # nothing left to do
    assert again.finished == 5 and again.best.number == found.best.number
    with pytest.raises(InputError, match="out exists already, and resume is not set"):
        tune(small(), dataset, out, trials=5)
    with pytest.raises(InputError, match="another recipe: training.batch_size"):
        tune(small(training__batch_size=5), dataset, out, trials=5, resume=True)


def test_a_stopped_trial_is_continued_by_the_next_process(dataset, tmp_path):
    out, begun = tmp_path / "out", []
    with pytest.raises(Stopped):
        tune(small(training__epochs=4), dataset, out, trials=2, stop=_after(8),
             before_trial=lambda *seen: begun.append(seen))  # fmt: skip
    assert (out / "trials/0000/last.ckpt").exists()
    found = tune(small(training__epochs=4), dataset, out, trials=2, resume=True,
                 before_trial=lambda *seen: begun.append(seen))  # fmt: skip
    (first, values, _), (again, same, resumed) = begun[:2]
    assert (first, again, resumed) == (0, 1, True) and same == values
    assert found.finished == 2 and sorted(path.name for path in (out / "trials").iterdir()) == ["0000", "0002"]
    results = json.loads((out / "trials/0000/results.json").read_text())
    assert results["epochs"] == 4


def _after(updates):
    """A request that asks to stop after some updates."""

    class Counting(StopRequest):
        count = 0

        @property
        def asked(self):
            self.count += 1
            return self.count >= updates

    return Counting()


def test_a_trial_that_another_process_trains_is_left_alone_and_counted(dataset, tmp_path):
    out = tmp_path / "out"
    tune(small(), dataset, out, trials=1)
    study = study_module.open_study(out, False, small())
    study.ask()
    (out / "trials/0001").mkdir()
    lock = try_lock(out / "trials/0001")
    assert tune(small(), dataset, out, trials=2, resume=True).finished == 1
    os.close(lock)  # its process is gone: the trial is taken over
    assert tune(small(), dataset, out, trials=2, resume=True).finished == 2


def test_bad_trials_are_pruned_and_impossible_ones_said(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(study_module, "STARTUP_TRIALS", 1)
    seen = []
    search = {"training.learning_rate": [1e-2, 1e-9], "training.final_learning_rate": [0.0]}
    tune(recipe(search=search, training__epochs=6), dataset, tmp_path / "out", trials=8, after_trial=seen.append)
    assert "pruned" in {trial.state for trial in seen}
    impossible = {"model.num_heads": [3, 5]}
    with pytest.raises(InputError, match=r"trials in a row could not be trained; the last: .*num_heads|num_heads"):
        tune(recipe(search=impossible), dataset, tmp_path / "no", trials=40)


def test_a_torn_line_of_the_journal_is_cut(dataset, tmp_path):
    out = tmp_path / "out"
    tune(small(), dataset, out, trials=1)
    with (out / "journal.log").open("ab") as file:
        file.write(b'{"op_code": 5, "wor')
    assert tune(small(), dataset, out, trials=1, resume=True).finished == 1


def test_needs_a_validation_split(tmp_path):
    blank = write_dataset(tmp_path / "blank", "regression", num_valid=0)
    with pytest.raises(InputError, match="has no graphs in the split valid, which a search compares trials by"):
        tune(small(), blank, tmp_path / "out", trials=1)
