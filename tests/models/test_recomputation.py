import torch
import torch.nn.functional as F
from torch import nn

from grpe_dgl.models.recomputation import recomputed


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
    y = torch.randn(4, 8, requires_grad=True).exp()
    with torch.autocast("cpu", torch.bfloat16), recomputed(y, torch.relu, y):
        nn.Linear(8, 3)(y).sum().backward()
