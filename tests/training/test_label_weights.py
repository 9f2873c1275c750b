"""Weights of labels: balanced classes, weights of rows, and losses that do not depend on how a batch is divided."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.utils.class_weight import compute_class_weight

import grpe_dgl.data
from grpe_dgl.data.batching.parts import Division, collate_parts
from grpe_dgl.errors import InputError
from grpe_dgl.training.distributed import SINGLE
from grpe_dgl.training.label_weights import LabelWeights, balanced
from grpe_dgl.training.losses import LOSS_FUNCTIONS, label_counts
from grpe_dgl.training.step import StepBatch, compute_gradients
from tests.training.test_padded_training import QUIET, double_model
from tests.training.tiny import recipe, write_dataset

NAN = float("nan")


def test_balanced_is_sklearns():
    labels = torch.tensor([[0, 1], [0, NAN], [0, 0], [1, 1], [NAN, 1]], dtype=torch.float32)
    found = balanced(labels, 2)
    for t in range(2):
        own = labels[:, t][~labels[:, t].isnan()].numpy()
        np.testing.assert_allclose(
            found[t], compute_class_weight("balanced", classes=np.array([0, 1]), y=own), rtol=1e-6
        )
    classes = torch.tensor([0, 0, 2, 1, 0, -1, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=classes[classes >= 0].numpy())
    np.testing.assert_allclose(balanced(classes, 4), [*expected, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(balanced(torch.tensor([[1.0], [1.0]]), 1), [[0.0, 1.0]])


def test_weights_of_labels():
    rows = torch.tensor([1.0, 2.0, 0.5, 4.0])
    labels = torch.tensor([[0, 1], [NAN, 1]], dtype=torch.float32)
    weights = LabelWeights(torch.tensor([[0.5, 3.0], [2.0, 5.0]]), rows)(labels, torch.tensor([3, 1]))
    np.testing.assert_allclose(weights, [[4 * 0.5, 4 * 5.0], [0.0, 2 * 5.0]])
    weights = LabelWeights(torch.tensor([0.5, 3.0]), rows)(torch.tensor([1, -1]), torch.tensor([2, 0]))
    np.testing.assert_allclose(weights, [0.5 * 3.0, 0.0])
    np.testing.assert_allclose(LabelWeights(None, rows)(labels, torch.tensor([0, 2])), [[1.0, 1.0], [0.0, 0.5]])


@pytest.mark.parametrize("name", ["l1", "mse", "huber", "bce", "cross_entropy"])
def test_losses_are_weighted_means_however_they_are_divided(name):
    generator = torch.Generator().manual_seed(0)
    if name == "cross_entropy":
        predictions = torch.randn(11, 3, generator=generator, dtype=torch.float64)
        labels = torch.randint(-1, 3, (11,), generator=generator)
        each = F.cross_entropy(predictions, labels, ignore_index=-1, reduction="none")
        present = labels >= 0
    else:
        predictions = torch.randn(11, 2, generator=generator, dtype=torch.float64)
        labels = (torch.randn(11, 2, generator=generator) > 0).double()
        each = {
            "l1": (predictions - labels).abs(),
            "mse": (predictions - labels).square(),
            "huber": F.huber_loss(predictions, labels, reduction="none"),
            "bce": F.binary_cross_entropy_with_logits(predictions, labels, reduction="none"),
        }[name]
        labels[::3, 0] = NAN
        present = ~labels.isnan()
    weights = torch.rand(labels.shape, generator=generator, dtype=torch.float64) * present
    expected = (each * weights)[present].sum() / weights.sum()
    loss = LOSS_FUNCTIONS[name]
    torch.testing.assert_close(loss(predictions, labels, None, None, weights).mean, expected)
    parts = (slice(0, 4), slice(4, 5), slice(5, None))
    counts = sum(label_counts(name, labels[part], 3, weights[part]) for part in parts)
    terms = [loss(predictions[part], labels[part], None, counts, weights[part]) for part in parts]
    torch.testing.assert_close(sum(term.sum for term in terms) / terms[0].normaliser, expected)
    reduced = loss(
        predictions[:4], labels[:4], lambda own: own + label_counts(name, labels[4:], 3, weights[4:]), None, weights[:4]
    )
    torch.testing.assert_close(reduced.normaliser, weights.sum())


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_micro_batches_have_the_gradients_of_the_whole_batch(kind, tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "data", kind))
    model = double_model(data).train()
    training = recipe(**QUIET, training__class_weights="balanced").fit_to_task(data.task).training
    rows = torch.linspace(0.5, 2, len(data)) if kind == "binary" else None
    weights = LabelWeights(balanced(data.train.labels(), data.task.num_outputs), rows)
    found = []
    for division in (Division(), Division(micro_batch_size=3), Division(padded=True, micro_batch_size=4)):
        model.zero_grad()
        parts = collate_parts(data.store, data.train.index, data.view, division)
        batch = StepBatch.of(parts, data.schema, training.loss, weights)
        total, normaliser = compute_gradients(model, batch, training, SINGLE)
        gradient = torch.cat(
            [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
        )
        found.append((float(total), float(normaliser), gradient))
    for total, normaliser, gradient in found[1:]:
        assert (total, normaliser) == pytest.approx(found[0][:2], rel=1e-6)
        torch.testing.assert_close(gradient, found[0][2], rtol=1e-5, atol=1e-7)


def test_class_weights_are_for_classes(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "data", "regression"))
    with pytest.raises(InputError, match="training.class_weights is balanced, but the dataset's task is regression"):
        recipe(training__class_weights="balanced").fit_to_task(data.task)
    assert LabelWeights.of(data, recipe().training) is None
