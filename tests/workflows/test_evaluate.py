import dataclasses

import numpy as np
import pytest

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.workflows.evaluate import evaluate
from grpe_dgl.workflows.experiment import run_experiment
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    write_dataset(folder / "tiny", "regression")
    run_experiment(recipe(training__epochs=2, model__max_distance=2), folder / "tiny", folder / "run")
    return folder


def test_metrics_are_those_of_the_predictions(folder):
    seen = []
    saved = load_checkpoint(folder / "run" / "best.ckpt")
    found = evaluate(
        saved,
        folder / "tiny",
        "train",
        metrics=["rmse", "mae"],
        batch_size=3,
        progress=lambda done, total: seen.append((done, total)),
    )
    labels = grpe_dgl.data.load(folder / "tiny").train.labels().numpy()
    errors = found.predictions.numpy() - labels
    assert list(found.metrics) == ["rmse", "mae"]
    assert found.metrics["mae"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
    assert found.metrics["rmse"] == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-5)
    assert (found.dataset, found.split, found.graphs, found.per_target) == ("tiny", "train", 20, {})
    assert seen == [(done, 20) for done in (3, 6, 9, 12, 15, 18, 20)]


def test_a_split_without_labels_is_only_predicted_on_request(folder, tmp_path):
    saved = load_checkpoint(folder / "run" / "best.ckpt")
    blank = write_dataset(tmp_path / "blank", "regression", valid_labels=[[np.nan]] * 4)
    with pytest.raises(InputError, match="the split valid of .*blank has no labels; accepted: a split with labels$"):
        evaluate(saved, blank, "valid")
    found = evaluate(saved, blank, "valid", needs_labels=False)
    assert found.metrics == {} and found.predictions.shape == (4, 1) and bool(found.predictions.isfinite().all())


def test_sbm_accuracy_has_the_batches_of_the_recipe_whatever_is_asked_for(tmp_path):
    path = write_dataset(tmp_path / "nodes", "multiclass", count=40)
    chosen = recipe(training__epochs=2, training__batch_size=3, training__metric="sbm_accuracy")
    (finished,) = run_experiment(chosen, path, tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run" / "best.ckpt")
    data = grpe_dgl.data.load(path)
    predictions = evaluate(saved, path, "train").predictions
    labels, sizes = data.train.labels(), data.num_real_nodes(data.train.index)
    edges = [0, *np.cumsum(sizes)[2::3], sizes.sum()] if len(sizes) % 3 else [0, *np.cumsum(sizes)[2::3]]
    values = []
    for first, last in zip(edges, edges[1:], strict=False):  # the definition, batch by batch
        known = labels[first:last] >= 0
        true, guess = labels[first:last][known], predictions[first:last][known].argmax(1)
        recalls = [float((guess[true == c] == c).float().mean()) if (true == c).any() else 0.0 for c in range(3)]
        values.append(sum(recalls) / len({*true.tolist(), *guess.tolist()}))
    for batch_size in (None, 1, 7, 100):
        found = evaluate(saved, path, "train", batch_size=batch_size)
        assert found.metrics == {"sbm_accuracy": pytest.approx(np.mean(values), rel=1e-6)}
    assert finished.results["splits"]["test"] == pytest.approx(
        evaluate(saved, path, "test", batch_size=2).metrics["sbm_accuracy"]
    )
    whole = evaluate(saved, path, "train", metrics=["weighted_accuracy"]).metrics["weighted_accuracy"]
    assert whole != pytest.approx(np.mean(values), rel=1e-3)


def test_errors(folder, tmp_path):
    saved = load_checkpoint(folder / "run" / "best.ckpt")
    with pytest.raises(InputError, match="the metric is 'ap'; accepted for regression: mae, rmse"):
        evaluate(saved, folder / "tiny", metrics=["ap"])
    with pytest.raises(InputError, match="it has train, valid, test"):
        evaluate(saved, folder / "tiny", "dev")
    with pytest.raises(InputError, match="the task's kind is 'regression' for the model, 'binary' there"):
        evaluate(saved, write_dataset(tmp_path / "three", "binary"))


def resplit(folder, path, *, shift):
    """The dataset `tiny` again with the graphs of every split moved by `shift`."""
    data = grpe_dgl.data.load(folder / "tiny")
    index = {name: (split.index + shift) % len(data) for name, split in data.splits.items()}
    graphs = [data.graph(number) for number in range(len(data))]
    grpe_dgl.data.write(
        path,
        graphs,
        data.store.label,
        index,
        task=data.task,
        node_vocabulary=(5, 5),
        num_edge_types=3,
    )
    return path


def test_training_graphs_in_a_split_of_other_data_are_refused(folder, tmp_path):
    saved = load_checkpoint(folder / "run" / "best.ckpt")
    other = resplit(folder, tmp_path / "other", shift=3)  # test 24..27 becomes 27, 0, 1, 2
    message = "not the data the model was trained on, and 3 of the 4 graphs of its split test are among the training"
    with pytest.raises(InputError, match=message):
        evaluate(saved, other)
    assert evaluate(saved, other, allow_overlap=True).graphs == 4
    assert evaluate(saved, other, "train").graphs == 20
    assert evaluate(saved, other, "valid").graphs == 4  # 23..26: none of the training graphs


def test_a_checkpoint_without_its_training_graphs_gets_a_warning(folder):
    saved = dataclasses.replace(load_checkpoint(folder / "run" / "best.ckpt"), data_identity=None)
    with pytest.warns(UserWarning, match="does not record its training graphs .*: the split test may contain some"):
        evaluate(saved, folder / "tiny")
