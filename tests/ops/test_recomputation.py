import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grpe_dgl.ops import recomputation
from grpe_dgl.ops.recomputation import checkpointed, recomputed


@pytest.fixture(autouse=True)
def small_values_are_made_again(monkeypatch):
    monkeypatch.setattr(recomputation, "KEPT_BYTES", 0)


def test_small_values_are_kept(monkeypatch):
    monkeypatch.setattr(recomputation, "KEPT_BYTES", 4 * 4 * 8)
    calls = []
    for rows in (3, 4):  # of eight numbers of four bytes
        x = torch.randn(rows, 8, requires_grad=True)
        active = F.gelu(x)
        with recomputed(active, lambda x: (calls.append(len(x)), F.gelu(x))[1], x):
            result = active * active
        result.sum().backward()
    assert set(calls) == {4}


def test_gradients_are_the_same_and_the_value_is_not_kept():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 8, requires_grad=True)  # padded: the projection sees a view of the norm's result
    norm, project = nn.LayerNorm(8), nn.Linear(8, 12)
    nn.init.normal_(norm.weight)
    parameters = [x, *norm.parameters(), *project.parameters()]

    def plain(x):
        return project(norm(x))

    def frugal(x):
        normed = norm(x)
        with recomputed(normed, norm, x):
            return project(normed)

    expected = torch.autograd.grad(plain(x).square().sum(), parameters)
    found = torch.autograd.grad(frugal(x).square().sum(), parameters)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)
    once = [torch.autograd.grad(f(x).pow(3).sum(), x, create_graph=True)[0] for f in (plain, frugal)]
    twice = [torch.autograd.grad(gradient.square().sum(), x)[0] for gradient in once]
    torch.testing.assert_close(twice[1], twice[0])

    calls = []

    def counted(x):
        calls.append(1)
        return F.gelu(x)

    active = counted(x)
    with recomputed(active, counted, x):
        result = project(active)
    assert len(calls) == 1
    result.sum().backward()
    assert len(calls) == 2


def test_without_gradients_nothing_is_hooked():
    x = torch.randn(4, 8)
    with torch.no_grad(), recomputed(x, torch.relu, x):
        torch.relu(x)


def test_under_autocast_the_same_types_come_out_in_the_backward_pass():
    x = torch.randn(4, 8, requires_grad=True)
    wide = nn.Linear(8, 8)
    gradients = []
    for frugal in (False, True):
        with torch.autocast("cpu", torch.bfloat16):
            hidden = wide(x)  # bfloat16
            active = F.gelu(hidden)
            normed = F.layer_norm(hidden, (8,))  # float32 under autocast, bfloat16 outside
            with recomputed(active, F.gelu, hidden) if frugal else contextlib.nullcontext():
                result = wide(active).sum()
            with recomputed(normed, lambda h: F.layer_norm(h, (8,)), hidden) if frugal else contextlib.nullcontext():
                result = result + (normed * normed).sum()
        gradients.append(torch.autograd.grad(result, (x, wide.weight)))
    for ours, theirs in zip(*gradients, strict=True):
        assert torch.equal(ours, theirs)


def test_checkpointed_computes_again_what_it_does_not_keep_with_the_same_random_numbers():
    x = torch.randn(4, 8, requires_grad=True)
    calls = []

    def activate(x):
        calls.append(1)
        return F.gelu(x)

    def layer(x):
        active = activate(x)
        with recomputed(active, activate, x):
            return F.dropout(active * active, 0.5)

    def gradient(function):
        calls.clear()
        torch.manual_seed(0)
        return torch.autograd.grad(function(x).sum(), x)[0], len(calls)

    plain, twice = gradient(layer)
    frugal, count = gradient(lambda x: checkpointed(layer, x))
    assert torch.equal(frugal, plain)
    assert twice == 3  # in the forward pass, and for each operand of the product
    assert count == 2  # once more as part of the layer; inside it `recomputed` keeps nothing back


def test_on_the_meta_device_only_the_value_itself_is_made_again():
    x = torch.randn(4, 8, device="meta", requires_grad=True)
    project = nn.Linear(8, 3, device="meta")
    calls = []

    def activate(x):
        calls.append(1)
        return F.gelu(x)

    active = activate(x)
    with recomputed(active, activate, x):
        result = project(active)
    result.sum().backward()
    assert len(calls) == 2 and project.weight.grad.shape == (3, 8)
