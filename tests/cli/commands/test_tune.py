import pytest

from tests.cli.invoke import grpe_in
from tests.training.tiny import recipe, write_dataset
from tests.workflows.tune.test_search import SEARCH

pytest.importorskip("optuna")


@pytest.fixture
def folder(tmp_path):
    write_dataset(tmp_path / "data" / "tiny", "regression")
    tiny = recipe(search=SEARCH, training__epochs=1, training__warmup_epochs=0)
    (tmp_path / "tiny.yaml").write_text(tiny.to_yaml())
    return tmp_path


def test_search_then_train_the_best(folder):
    output = grpe_in(folder, "tune", "tiny.yaml", "--trials", 2)
    assert "searches training.learning_rate, model.layers; everything goes to runs/tune_tiny_tiny\n" in output
    assert "2 trials finished; best: trial " in output
    assert "runs/tune_tiny_tiny/best.yaml: the best recipe; what mattered is drawn in runs/tune_tiny_tiny/imp" in output
    assert "grpe train runs/tune_tiny_tiny/best.yaml --data data\n" in output
    assert "best model in" in grpe_in(folder, "train", "runs/tune_tiny_tiny/best.yaml", "--data", "data")
    refused = grpe_in(folder, "tune", "tiny.yaml", "--trials", 2, code=1)
    assert "runs/tune_tiny_tiny exists already, and resume is not set; --resume continues it" in refused


def test_stopped_by_time_and_wrong_arguments(folder):
    output = grpe_in(folder, "tune", "tiny.yaml", "--epochs", 500, "--max-time", "1s", "--out", "out")
    assert "--max-time is reached; everything is saved in out. To continue:\n  grpe " in output
    assert "for the dataset tiny; --set dataset=other" in grpe_in(
        folder, "tune", "tiny.yaml", "--dataset", "other", code=2
    )
    assert "fits any dataset: choose one with --dataset" in grpe_in(folder, "tune", "property", code=2)
    assert "--trials" in grpe_in(folder, "tune", "tiny.yaml", "--trials", 0, code=2)
