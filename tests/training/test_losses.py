import math

import pytest
import torch
import torch.nn.functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import LOSSES
from grpe_dgl.training.losses import (
    LOSS_FUNCTIONS,
    LossTerms,
    bce,
    cross_entropy,
    huber,
    l1,
    mse,
    weighted_cross_entropy,
)

NAN = math.nan


def test_l1_literal():
    terms = l1(torch.tensor([[1.0, 5.0], [2.0, 7.0]]), torch.tensor([[4.0, NAN], [2.5, 6.0]]))
    assert terms.sum.item() == 3 + 0.5 + 1
    assert terms.normaliser.item() == 3
    assert terms.mean.item() == pytest.approx(1.5)


def test_mse_literal():
    terms = mse(torch.tensor([[1.0, 5.0], [2.0, 7.0]]), torch.tensor([[4.0, NAN], [2.5, 6.0]]))
    assert terms.sum.item() == 9 + 0.25 + 1
    assert terms.normaliser.item() == 3


def test_bce_literal():
    terms = bce(torch.tensor([[0.0], [2.0], [9.0]]), torch.tensor([[1.0], [0.0], [NAN]]))
    assert terms.sum.item() == pytest.approx(math.log(2) + math.log(1 + math.exp(2)))
    assert terms.normaliser.item() == 2


def test_cross_entropy_literal():
    terms = cross_entropy(torch.tensor([[0.0, 0.0, 0.0], [9.0, 1.0, 0.0]]), torch.tensor([2, -1]))
    assert terms.mean.item() == pytest.approx(math.log(3))


def test_huber_literal():
    predictions, labels = torch.tensor([[0.5, 3.0, 7.0]]), torch.tensor([[0.0, 0.0, torch.nan]])
    terms = huber(predictions, labels)
    assert (terms.sum.item(), terms.normaliser.item()) == (0.125 + 2.5, 2.0)


def test_weighted_cross_entropy_literal():
    # Three nodes of class 0, one of class 1, none of class 2: weights 1/4, 3/4 and 0.
    logits = torch.zeros(4, 3)
    terms = weighted_cross_entropy(logits, torch.tensor([0, 0, 0, 1]))
    assert terms.normaliser.item() == pytest.approx(3 * 0.25 + 0.75)
    assert terms.mean.item() == pytest.approx(math.log(3))


def test_weighted_cross_entropy_is_the_benchmarks():
    torch.manual_seed(0)
    logits, labels = torch.randn(101, 5), torch.randint(0, 4, (101,))
    sizes = torch.bincount(labels, minlength=5)
    weights = (101 - sizes).float() / 101 * (sizes > 0)
    expected = F.cross_entropy(logits, labels, weight=weights)
    torch.testing.assert_close(weighted_cross_entropy(logits, labels).mean, expected)


@pytest.mark.parametrize("name", LOSSES)
def test_missing_labels_change_nothing(name):
    predictions, labels = _example(name)
    missing = torch.zeros(len(labels), dtype=torch.bool)
    missing[::3] = True
    some = labels.clone()
    some[missing] = NAN if labels.is_floating_point() else -1
    torch.testing.assert_close(
        LOSS_FUNCTIONS[name](predictions, some, None).mean,
        LOSS_FUNCTIONS[name](predictions[~missing], labels[~missing], None).mean,
    )


@pytest.mark.parametrize("name", LOSSES)
def test_no_label_gives_zero_and_no_gradient(name):
    predictions, labels = _example(name)
    predictions.requires_grad_()
    nothing = torch.full_like(labels, NAN if labels.is_floating_point() else -1)
    loss = LOSS_FUNCTIONS[name](predictions, nothing, None).mean
    loss.backward()
    assert loss.item() == 0
    assert predictions.grad is not None and not predictions.grad.any()


def test_one_class_gives_zero_and_no_gradient():
    logits = torch.randn(4, 3, requires_grad=True)
    loss = weighted_cross_entropy(logits, torch.tensor([1, 1, 1, 1])).mean
    loss.backward()
    assert loss.item() == 0
    assert not logits.grad.any()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("cut", [1, 7, 20, 23])
def test_two_processes_equal_one(name, cut):
    """Cut unevenly, with missing labels and uneven classes: loss and gradient are those of the whole batch."""
    predictions, labels = _example(name)
    labels[::4] = NAN if labels.is_floating_point() else -1
    whole = predictions.clone().requires_grad_()
    expected = LOSS_FUNCTIONS[name](whole, labels, None).mean
    expected.backward()

    parts = [slice(0, cut), slice(cut, None)]
    leaves = [predictions[part].clone().requires_grad_() for part in parts]
    terms = _in_two_processes(name, leaves, [labels[part] for part in parts])
    torch.testing.assert_close(sum(t.sum for t in terms) / terms[0].normaliser, expected)
    for own in terms:
        (2 * own.sum / own.normaliser).backward()  # DistributedDataParallel then halves the gradients
    torch.testing.assert_close(torch.cat([leaf.grad for leaf in leaves]) / 2, whole.grad)


def test_bf16_predictions_are_summed_in_float32():
    predictions = torch.full((1000, 1), 1.0, dtype=torch.bfloat16)
    terms = l1(predictions, torch.zeros(1000, 1))
    assert terms.sum.dtype == torch.float32
    assert terms.mean.item() == 1.0


@pytest.mark.parametrize("loss", [l1, mse, huber, bce])
def test_labels_of_another_shape_are_refused(loss):
    with pytest.raises(InputError, match=r"labels have shape \(3,\).*\(3, 1\)"):
        loss(torch.zeros(3, 1), torch.zeros(3))


@pytest.mark.parametrize("loss", [cross_entropy, weighted_cross_entropy])
def test_classes_that_do_not_fit_are_refused(loss):
    with pytest.raises(InputError, match=r"\(N, classes\) and \(N,\)"):
        loss(torch.zeros(3, 2), torch.zeros(3, 1, dtype=torch.int64))
    with pytest.raises(InputError, match=r"a label is 2; accepted: 0..1"):
        loss(torch.zeros(3, 2), torch.tensor([0, 2, -1]))


def _example(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    if name in ("l1", "mse", "huber", "bce"):
        labels = torch.randn(23, 3, generator=generator, dtype=torch.float64)
        predictions = torch.randn(23, 3, generator=generator, dtype=torch.float64)
        return predictions, (labels > 0).double() if name == "bce" else labels
    labels = torch.randint(0, 5, (23,), generator=generator).clamp(max=3)  # uneven, class 4 absent
    return torch.randn(23, 5, generator=generator, dtype=torch.float64), labels


def _in_two_processes(name: str, predictions: list, labels: list) -> list[LossTerms]:
    """Run both parts; what one passes to all_reduce is first collected from both, then summed."""
    sent: list[torch.Tensor] = []

    def collect(tensor: torch.Tensor) -> torch.Tensor:
        sent.append(tensor)
        return tensor

    for part in zip(predictions, labels, strict=True):
        LOSS_FUNCTIONS[name](*part, collect)
    assert len(sent) == 2
    total = sent[0] + sent[1]
    return [LOSS_FUNCTIONS[name](*part, lambda _: total) for part in zip(predictions, labels, strict=True)]
