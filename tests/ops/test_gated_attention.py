"""The kernel of gated attention against its formula."""

import math

import pytest
import torch

from grpe_dgl.ops.gated_attention import gated_attention

SIZES = torch.tensor([3, 1, 5])
NODES, PAIRS = int(SIZES.sum()), int((SIZES**2).sum())


def naive(qkv, maps, heads, seen=None):
    """The formula, graph by graph and head by head; `seen` (heads, pairs) says which keys a query sees."""
    q, k, v = qkv.unflatten(-1, (3, -1, heads)).unbind(1)  # (N, D, H) each
    b, c = maps.unflatten(-1, (2, heads)).unbind(1)
    z, scores, degree = torch.zeros_like(q), torch.zeros_like(b), torch.zeros_like(q[:, 0])
    first = pair = 0
    for n in SIZES.tolist():
        for i in range(n):
            for h in range(heads):
                here = slice(pair + i * n, pair + (i + 1) * n)
                products = k[first : first + n, :, h] @ q[first + i, :, h] / math.sqrt(q.shape[1])
                s = products.clamp(-5, 5) + b[here, h]
                gate = c[here, h].sigmoid()
                scores[here, h], degree[first + i, h] = s, gate.sum()
                if seen is not None:
                    s = s.masked_fill(~seen[h, here], -math.inf)
                weights = s.softmax(0) if seen is None or seen[h, here].any() else torch.zeros_like(s)
                z[first + i, :, h] = (weights * gate) @ v[first : first + n, :, h]
        first, pair = first + n, pair + n * n
    return z.flatten(1), scores, degree


def inputs(heads, head_size):
    torch.manual_seed(heads)
    qkv = 2 * torch.randn(NODES, 3 * head_size * heads, dtype=torch.float64)
    return qkv.requires_grad_(), (2 * torch.randn(PAIRS, 2 * heads, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize(("heads", "head_size"), [(1, 3), (8, 2), (11, 1), (16, 5)])
def test_formula_and_gradients(heads, head_size):
    qkv, maps = inputs(heads, head_size)
    found, expected = gated_attention(SIZES, qkv, maps, heads), naive(qkv, maps, heads)
    torch.manual_seed(0)
    weights = [torch.randn_like(x) for x in expected]
    gradients = []
    for outputs in (found, expected):
        total = sum((x * w).sum() for x, w in zip(outputs, weights, strict=True))
        gradients.append(torch.autograd.grad(total, [qkv, maps]))
    for ours, theirs in zip([*found, *gradients[0]], [*expected, *gradients[1]], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)
    products = expected[1] - maps.unflatten(-1, (2, heads))[:, 0]
    assert (products.abs() == 5).any() or head_size == 1  # some products are clipped


def test_hidden_keys_are_left_out_of_the_softmax():
    heads, chance = 8, 0.4
    qkv, maps = inputs(heads, 3)
    with torch.no_grad():
        qkv.unflatten(-1, (3, -1, heads))[:, 2] = 1.0  # values of one: z is the sum of the gated weights
        torch.manual_seed(3)
        found = gated_attention(SIZES, qkv, maps, heads, random_mask=chance)
        torch.manual_seed(3)
        again = gated_attention(SIZES, qkv, maps, heads, random_mask=chance)
        other = gated_attention(SIZES, qkv, maps, heads, random_mask=chance)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))
    assert not torch.equal(found.z, other.z)
    # The graph of one node: its weight is 1, or 0 where its only key is hidden.
    alone = found.z.unflatten(-1, (-1, heads))[3, 0]
    gate = maps.unflatten(-1, (2, heads))[9, 1].sigmoid()
    assert all(torch.isclose(z, g) or z == 0 for z, g in zip(alone, gate, strict=True))
    assert (alone == 0).any() and (alone != 0).any()
    torch.testing.assert_close(found.scores, naive(qkv, maps, heads)[1])


@pytest.mark.parametrize("options", [{"random_mask": 0.3}, {"dropout": 0.3}, {"random_mask": 0.2, "dropout": 0.2}])
def test_gradients_are_those_of_the_masks_that_were_drawn(options):
    qkv, maps = inputs(8, 2)

    def function(qkv, maps):
        torch.manual_seed(5)
        return tuple(gated_attention(SIZES, qkv, maps, 8, **options))

    with torch.no_grad():
        qkv.mul_(0.3)  # no product near the clip's edges
    assert torch.autograd.gradcheck(function, (qkv, maps))


def test_shares_of_keys_that_are_hidden_and_of_weights_that_are_dropped():
    sizes = torch.tensor([200])
    qkv = torch.zeros(200, 3 * 8)
    qkv[:, 16:] = 1.0
    maps = torch.cat([torch.zeros(200 * 200, 8), torch.full((200 * 200, 8), 50.0)], 1)  # gates of one
    dropped = gated_attention(sizes, qkv, maps, 8, dropout=0.25).z
    assert abs(float(dropped.mean()) - 1) < 0.01 and float(dropped.std()) > 0.01
    torch.testing.assert_close(gated_attention(sizes, qkv, maps, 8, random_mask=0.25).z, torch.ones(200, 8))


def test_batches_without_graphs():
    found = gated_attention(torch.zeros(0, dtype=torch.long), torch.zeros(0, 24), torch.zeros(0, 16), 8)
    assert [x.shape for x in found] == [(0, 8), (0, 8), (0, 8)]


def test_threads_change_no_number(monkeypatch):
    import grpe_dgl.ops.gated_attention as module

    qkv, maps = inputs(8, 2)
    alone = gated_attention(SIZES, qkv, maps, 8)
    before = torch.get_num_threads()
    monkeypatch.setattr(module, "WORK_PER_THREAD", 1)
    torch.set_num_threads(2)
    try:
        shared = gated_attention(SIZES, qkv, maps, 8)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(alone, shared, strict=True))
