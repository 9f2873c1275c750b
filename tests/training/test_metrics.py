import csv
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    r2_score,
    roc_auc_score,
)

from grpe_dgl.errors import InputError
from grpe_dgl.io.ogb_import import import_ogb
from grpe_dgl.objectives import BOTH_CLASSES, METRICS
from grpe_dgl.training.metrics import METRIC_FUNCTIONS, is_defined

NAN = math.nan
# Every metric and number of targets for which OGB has an Evaluator, and a dataset of that shape.
OGB_DATASETS = {
    ("rocauc", 1): "ogbg-molhiv",
    ("rocauc", 2): "ogbg-molclintox",
    ("rocauc", 12): "ogbg-moltox21",
    ("rocauc", 27): "ogbg-molsider",
    ("rocauc", 617): "ogbg-moltoxcast",
    ("rocauc", 1310): "ogbg-molchembl",
    ("ap", 17): "ogbg-molmuv",
    ("ap", 128): "ogbg-molpcba",
    ("rmse", 1): "ogbg-molesol",
}


def test_literals():
    predictions = torch.tensor([[1.0, 5.0], [2.0, 7.0], [0.0, 1.0]])
    labels = torch.tensor([[4.0, NAN], [2.0, 6.0], [NAN, NAN]])
    assert METRIC_FUNCTIONS["mae"](predictions, labels) == pytest.approx((1.5 + 1.0) / 2)
    assert METRIC_FUNCTIONS["rmse"](predictions, labels) == pytest.approx((math.sqrt(4.5) + 1.0) / 2)
    scores, truth = torch.tensor([[0.1], [0.4], [0.35], [0.8]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    assert METRIC_FUNCTIONS["rocauc"](scores, truth) == pytest.approx(0.75)
    assert METRIC_FUNCTIONS["ap"](scores, truth) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)


def test_r2_literal():
    predictions = torch.tensor([[1.0, 5.0, 0.0], [2.0, 7.0, 0.0], [5.0, 1.0, 0.0], [9.0, 0.0, 0.0]])
    labels = torch.tensor([[1.0, 3.0, NAN], [2.0, 3.0, 8.0], [3.0, 3.0, NAN], [NAN, 3.0, NAN]])
    # The second target's labels are all equal and the third has one: both are left out.
    assert METRIC_FUNCTIONS["r2"](predictions, labels) == pytest.approx(1 - 4 / 2)
    with pytest.raises(InputError, match="no target has two labels that differ among the 4 rows"):
        METRIC_FUNCTIONS["r2"](predictions[:, 1:], labels[:, 1:])
    assert not is_defined("r2", labels[:, 1:]) and is_defined("r2", labels)


def test_r2_is_sklearns():
    predictions, labels = _regression(1)
    present = ~torch.isnan(labels)
    expected = r2_score(labels[present], predictions[present])
    assert METRIC_FUNCTIONS["r2"](predictions, labels) == pytest.approx(expected, rel=1e-12)


def test_accuracies_literal():
    logits = torch.tensor([[9.0, 0, 0], [9, 0, 0], [9, 0, 0], [9, 0, 0], [0, 9, 0]])
    labels = torch.tensor([0, 0, 1, -1, 1])  # class 2 has no label
    assert METRIC_FUNCTIONS["accuracy"](logits, labels) == 3 / 4
    assert METRIC_FUNCTIONS["weighted_accuracy"](logits, labels) == pytest.approx((2 / 2 + 1 / 2) / 2)
    yes_no = torch.tensor([[1.0, -1.0], [1.0, -1.0]])
    assert METRIC_FUNCTIONS["accuracy"](yes_no, torch.tensor([[1.0, 1.0], [0.0, NAN]])) == pytest.approx((0.5 + 0) / 2)


def test_weighted_accuracy_is_sklearns():
    rng = np.random.default_rng(0)
    logits, labels = torch.from_numpy(rng.normal(size=(200, 6))), torch.from_numpy(rng.integers(0, 6, 200))
    expected = balanced_accuracy_score(labels.numpy(), logits.argmax(1).numpy())
    assert METRIC_FUNCTIONS["weighted_accuracy"](logits, labels) == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "targets"), OGB_DATASETS)
def test_molecules_as_ogb(metric, targets):
    evaluator = import_ogb("ogb.graphproppred").Evaluator(OGB_DATASETS[metric, targets])
    assert (evaluator.eval_metric, evaluator.num_tasks) == (metric, targets)
    predictions, labels = _binary(targets) if metric != "rmse" else _regression(targets)
    if targets > 2:
        labels[:, 0], labels[:, 1] = NAN, labels[:, 1].clamp(min=1)  # no label; one class only
    expected = evaluator.eval({"y_true": labels.numpy(), "y_pred": predictions.numpy()})[metric]
    assert METRIC_FUNCTIONS[metric](predictions, labels) == pytest.approx(expected, rel=1e-12)


def test_every_ogb_shape_is_tested():
    table = Path(import_ogb("ogb.graphproppred").__file__).with_name("master.csv")
    with table.open(newline="") as file:
        rows = {row[0]: row[1:] for row in csv.reader(file)}  # a column for each dataset
    shapes = set(zip(rows["eval metric"], map(int, rows["num tasks"]), strict=True))
    assert {shape for shape in shapes if shape[0] in METRICS} == set(OGB_DATASETS)


@pytest.mark.parametrize("evaluator", ["PCQM4MEvaluator", "PCQM4Mv2Evaluator"])
def test_pcqm_as_ogb(evaluator):
    predictions, labels = _regression(1)
    present = ~torch.isnan(labels)
    values = {"y_true": labels[present].numpy(), "y_pred": predictions[present].numpy()}
    expected = getattr(import_ogb("ogb.lsc"), evaluator)().eval(values)["mae"]
    assert METRIC_FUNCTIONS["mae"](predictions, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("metric", "score"), [("rocauc", roc_auc_score), ("ap", average_precision_score)])
@pytest.mark.parametrize("targets", [1, 3, 128])
def test_missing_labels_and_one_sided_targets_as_ogb_does(metric, score, targets):
    """Whether or not OGB has an Evaluator for the number of targets."""
    predictions, labels = _binary(targets)
    if targets > 1:
        labels[:, 0] = labels[:, 0].clamp(min=1)  # no zeros: this target is left out
    values = []
    for p, t in zip(predictions.T, labels.T, strict=True):
        present = ~torch.isnan(t)
        if len(set(t[present].tolist())) == 2:
            values.append(score(t[present].numpy(), p[present].numpy()))
    assert len(values) == max(1, targets - 1)
    assert METRIC_FUNCTIONS[metric](predictions, labels) == pytest.approx(np.mean(values), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_order_of_rows_does_not_matter(metric):
    if "accuracy" in metric:
        predictions, labels = torch.randn(50, 4, dtype=torch.float64), torch.randint(-1, 4, (50,))
    else:
        predictions, labels = _binary(3) if METRICS[metric].requires == BOTH_CLASSES else _regression(3)
    order = torch.randperm(len(labels))
    value = METRIC_FUNCTIONS[metric](predictions, labels)
    assert METRIC_FUNCTIONS[metric](predictions[order], labels[order]) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "labels", "why"),
    [
        ("mae", torch.full((3, 1), NAN), "no target has labels among the 3 rows"),
        ("rmse", torch.full((3, 1), NAN), "no target has labels among the 3 rows"),
        ("rocauc", torch.ones(3, 1), "no target has labels of both classes among the 3 rows"),
        ("ap", torch.zeros(3, 1), "no target has labels of both classes"),
        ("weighted_accuracy", torch.full((3,), -1), "none of the 3 rows has a label"),
        ("accuracy", torch.zeros(2), r"\(3, 1\) and labels \(2,\)"),
        ("mae", torch.zeros(3), r"\(3, 1\) and labels \(3,\)"),
    ],
)
def test_what_cannot_be_computed_is_refused(metric, labels, why):
    with pytest.raises(InputError, match=why):
        METRIC_FUNCTIONS[metric](torch.zeros(3, 1), labels)


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2", "rocauc", "ap"])
@pytest.mark.parametrize("value", [NAN, math.inf])
def test_predictions_that_are_not_finite_give_nan(metric, value):
    predictions, labels = _binary(3) if metric in ("rocauc", "ap") else _regression(3)
    labels[:2, 1] = torch.tensor([NAN, 1.0])
    predictions[0, 1] = value  # this row has no label
    assert math.isfinite(METRIC_FUNCTIONS[metric](predictions, labels))
    predictions[1, 1] = value
    assert math.isnan(METRIC_FUNCTIONS[metric](predictions, labels))


def test_a_class_that_is_predicted_but_never_labelled():
    logits = torch.tensor([[9.0, 0, 0], [0, 0, 9], [0, 9, 0]])
    assert METRIC_FUNCTIONS["weighted_accuracy"](logits, torch.tensor([0, 0, 1])) == pytest.approx((1 / 2 + 1) / 2)


def test_sbm_accuracy_literal():
    """Two graphs a batch. In the first, class 2 is predicted but never labelled; the last batch is smaller."""
    logits = torch.eye(3)[torch.tensor([0, 2, 1, 1, 0, 0, 2])]
    labels = torch.tensor([0, 0, 1, 1, 1, -1, 2])
    batch = torch.tensor([0, 0, 0, 0, 1, 1, 2])
    expected = ((1 / 2 + 2 / 2 + 0) / 3 + (0 + 0) / 2 + 1) / 3  # in the second, class 0 is predicted, 1 labelled
    assert METRIC_FUNCTIONS["sbm_accuracy"](logits, labels, batch) == pytest.approx(expected, rel=1e-12)
    assert METRIC_FUNCTIONS["sbm_accuracy"](logits, labels) == pytest.approx((1 / 2 + 2 / 3 + 1) / 3, rel=1e-12)


def test_sbm_accuracy_is_the_mean_over_batches_of_balanced_accuracy():
    """Where every class is labelled in every batch, each batch's value is scikit-learn's."""
    rng = np.random.default_rng(1)
    sizes = [40, 60, 25]
    labels = torch.from_numpy(np.concatenate([rng.permutation(np.arange(size) % 6) for size in sizes]))
    logits = torch.from_numpy(rng.normal(size=(sum(sizes), 6)) + 1.5 * np.eye(6)[labels])
    batch = torch.repeat_interleave(torch.tensor([0, 1, 2]), torch.tensor(sizes))
    values = [balanced_accuracy_score(labels[batch == b], logits[batch == b].argmax(1)) for b in range(3)]
    assert METRIC_FUNCTIONS["sbm_accuracy"](logits, labels, batch) == pytest.approx(np.mean(values), rel=1e-12)
    assert METRIC_FUNCTIONS["weighted_accuracy"](logits, labels) != pytest.approx(np.mean(values), rel=1e-3)


def test_sbm_accuracy_leaves_out_batches_without_a_label():
    logits, labels = torch.eye(2)[torch.tensor([0, 0, 1])], torch.tensor([0, -1, 1])
    assert METRIC_FUNCTIONS["sbm_accuracy"](logits, labels, torch.tensor([0, 1, 2])) == 1.0
    with pytest.raises(InputError, match="sbm_accuracy is undefined: none of the 3 rows has a label"):
        METRIC_FUNCTIONS["sbm_accuracy"](logits, torch.full((3,), -1), torch.tensor([0, 1, 2]))


def _binary(targets: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(targets)
    labels = (torch.randn(60, targets, generator=generator, dtype=torch.float64) > 0).double()
    labels[torch.rand(60, targets, generator=generator) < 0.3] = NAN
    return torch.randn(60, targets, generator=generator, dtype=torch.float64), labels


def _regression(targets: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(targets)
    labels = torch.randn(60, targets, generator=generator, dtype=torch.float64)
    labels[torch.rand(60, targets, generator=generator) < 0.3] = NAN
    return torch.randn(60, targets, generator=generator, dtype=torch.float64), labels


@pytest.mark.parametrize(
    ("metric", "score"),
    [("mcc", matthews_corrcoef), ("f1", f1_score), ("balanced_accuracy", balanced_accuracy_score)],
)
def test_thresholded_metrics_are_sklearns(metric, score):
    predictions, labels = _binary(3)
    labels[:5, 1] = NAN
    expected = []
    for t in range(3):
        present = ~labels[:, t].isnan()
        expected.append(score(labels[present, t].numpy(), (predictions[present, t] > 0).numpy()))
    assert METRIC_FUNCTIONS[metric](predictions, labels) == pytest.approx(sum(expected) / 3, rel=1e-12)
    classes, logits = torch.randint(-1, 4, (50,)), torch.randn(50, 4, dtype=torch.float64)
    true, predicted = classes[classes >= 0].numpy(), logits[classes >= 0].argmax(1).numpy()
    options = {"average": "macro"} if metric == "f1" else {}
    assert METRIC_FUNCTIONS[metric](logits, classes) == pytest.approx(score(true, predicted, **options), rel=1e-12)
    with pytest.raises(InputError, match="no target has labels of both classes"):
        METRIC_FUNCTIONS[metric](torch.zeros(3, 1), torch.ones(3, 1))
