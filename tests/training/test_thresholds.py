import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

from grpe_dgl.training.metrics import METRIC_FUNCTIONS
from grpe_dgl.training.thresholds import choose_thresholds, shift_to_thresholds

NAN = float("nan")
SCORES = {"mcc": matthews_corrcoef, "f1": f1_score, "balanced_accuracy": balanced_accuracy_score}


@pytest.mark.parametrize("metric", SCORES)
def test_no_other_threshold_is_better(metric):
    generator = np.random.default_rng(0)
    labels = (generator.random((60, 2)) < (0.1, 0.6)).astype(np.float32)
    logits = generator.normal(size=(60, 2)) + 1.5 * labels - (3, 0)
    labels[::7, 1] = np.nan
    logits, labels = torch.from_numpy(logits), torch.from_numpy(labels)
    found = choose_thresholds(logits, labels, metric)
    for t in range(2):
        present = ~labels[:, t].isnan()
        true, probability = labels[present, t].numpy(), torch.sigmoid(logits[present, t]).numpy()
        best = max(SCORES[metric](true, probability > cut) for cut in np.linspace(0.001, 0.999, 2000))
        assert SCORES[metric](true, probability > found[t]) >= best - 1e-12
    assert found[0] < 0.5  # yes is rare there
    shifted = shift_to_thresholds(metric, logits, found)
    assert ((shifted > 0).numpy() == (torch.sigmoid(logits).numpy() > np.array(found))).all()
    assert METRIC_FUNCTIONS[metric](shifted, labels) >= METRIC_FUNCTIONS[metric](logits, labels)


def test_other_metrics_maximise_mcc_and_are_not_shifted():
    logits, labels = torch.tensor([[-3.0], [-2.0], [-1.0], [0.0]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    (found,) = choose_thresholds(logits, labels, "rocauc")
    assert found == pytest.approx(1 / (1 + np.exp(1.5)))
    assert shift_to_thresholds("rocauc", logits, (found,)) is logits
    assert shift_to_thresholds("mcc", logits, None) is logits


@pytest.mark.parametrize("labels", [[1.0, 1.0, NAN], [NAN, NAN, NAN]])
def test_one_half_where_it_cannot_be_chosen(labels):
    labels = torch.tensor(labels).unsqueeze(1)
    assert choose_thresholds(torch.tensor([[0.1], [0.2], [0.3]]), labels, "f1") == (0.5,)
    assert choose_thresholds(torch.zeros(2, 1), torch.tensor([[0.0], [1.0]]), "f1") == (0.5,)


def test_a_half_is_taken_where_every_cut_between_predictions_is_worse():
    logits, labels = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1.0], [1.0], [0.0]])
    assert choose_thresholds(logits, labels, "mcc") == (0.5,)
