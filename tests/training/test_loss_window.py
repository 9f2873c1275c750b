import pytest
import torch

from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.loss_window import DivergedError, LossWindow
from grpe_dgl.training.state import Sums

ROWS = [(3.0, 4.0), (1.0, 2.0), (0.1, 3.0)]


def terms(*values):
    return [torch.tensor(value) for value in values]


def fill(window, rows, first=0):
    for update, (total, weight) in enumerate(rows, first):
        window.add(update, *terms(total, total, weight), torch.tensor([10 * update, 10 * update + 1]))


def test_read_late_the_sums_are_those_of_reading_each():
    late, each = LossWindow(SINGLE), LossWindow(SINGLE)
    late.capacity, late._rows = 3, torch.zeros(3, 3, dtype=torch.float64)
    ours, theirs = Sums(), Sums()
    fill(late, ROWS)
    assert late.pending == 3 and late.last is None and ours.weight == 0
    late.read(ours)
    for update, row in enumerate(ROWS):
        fill(each, [row], update)
        each.read(theirs)
    assert (ours.loss, ours.weight, late.last) == (theirs.loss, theirs.weight, each.last)
    assert late.pending == 0 and ours.weight == 9.0


def test_a_loss_that_is_not_finite_is_found_by_its_update():
    window = LossWindow(SINGLE)
    window.capacity, window._rows = 3, torch.zeros(3, 3, dtype=torch.float64)
    fill(window, [(1.0, 1.0), (float("nan"), 1.0), (2.0, 1.0)], first=7)
    with pytest.raises(DivergedError, match=r"the loss is nan at update 8; .* indices \[80, 81\]"):
        window.read(Sums())


def test_how_often_it_is_read_depends_on_the_device():
    assert LossWindow(SINGLE).capacity == 1
    assert LossWindow(Processes(device=torch.device("meta"))).capacity == 50
