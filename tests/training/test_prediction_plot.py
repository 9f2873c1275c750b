import numpy as np
import pytest

from grpe_dgl.schema import Task
from grpe_dgl.training.prediction_plot import _classes, draw_predictions
from grpe_dgl.training.predictions import Predictions

HOSTILE = "_a$b_{$\x1b\n<script>"


def task(kind, targets):
    metric = {"regression": "mae", "binary": "rocauc", "multiclass": "accuracy"}[kind]
    return Task(level="graph", kind=kind, targets=tuple(targets), classes=("x", "y"), metric=metric)


def draw(tmp_path, kind, predicted, labels, targets):
    found = Predictions(np.arange(len(labels)), None, np.array(predicted, np.float32), np.array(labels))
    return draw_predictions(found, task(kind, targets), split="test", title=HOSTILE, path=tmp_path / "p.png")


@pytest.mark.parametrize("targets", [1, 2, 8])
@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_draws_labelled_rows_of_every_kind(tmp_path, kind, targets):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (30, targets)).astype(np.float32)
    labels[3:6] = np.nan
    predicted = rng.normal(size=labels.shape)
    predicted[8, 0] = np.inf
    names = [f"{HOSTILE}{number}" for number in range(targets)]
    assert draw(tmp_path, kind, predicted, labels, names)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kind", "predicted", "labels"),
    [
        ("binary", [[1.0], [2.0]], [[1.0], [1.0]]),  # one class only
        ("regression", [[1.0], [np.nan]], [[np.nan], [1.0]]),
        ("multiclass", [[1.0, 0.0]], [0]),
    ],
)
def test_nothing_to_draw(tmp_path, kind, predicted, labels):
    assert not draw(
        tmp_path, kind, predicted, np.array(labels, np.int64 if kind == "multiclass" else np.float32), ["a"]
    )
    assert list(tmp_path.iterdir()) == []


def test_every_class_of_graphs_against_the_others(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 3, 40)
    logits = rng.normal(size=(40, 3)) + 2 * np.eye(3)[np.maximum(labels, 0)]
    logits[5] = np.nan
    names = (HOSTILE, "y", "z")
    found = Predictions(np.arange(40), None, logits.astype(np.float32), labels)
    classes = Task(level="graph", kind="multiclass", targets=("a",), classes=names, metric="accuracy")
    assert draw_predictions(found, classes, split="test", title="t", path=tmp_path / "p.png")
    columns = _classes(found, classes)
    use = (labels >= 0) & (np.arange(40) != 5)
    chance = np.exp(logits[use]) / np.exp(logits[use]).sum(1, keepdims=True)
    assert [name for name, _, _ in columns] == list(names)
    for number, (_, odds, own) in enumerate(columns):
        np.testing.assert_allclose(1 / (1 + np.exp(-odds)), chance[:, number], rtol=1e-4)
        assert (own == (labels[use] == number)).all()


def test_one_equal_label(tmp_path):
    assert draw(tmp_path, "regression", [[2.0]], np.array([[2.0]], np.float32), ["a"])
