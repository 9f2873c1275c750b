from concurrent.futures import ThreadPoolExecutor

import dgl
import numba
import numpy as np
import pytest
import torch

from grpe_dgl.kernels import decorator, openmp
from grpe_dgl.ops import relative_attention
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import LANES, load, store
from grpe_dgl.ops.fused.plan import ROW_COST, plan_of
from grpe_dgl.transforms.pair_structure import complete_pairs
from tests.ops.attention_inputs import output_and_gradients, random_inputs, relative_error


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def draw_keep_mask(n, heads, dropout):
    """Return which weights dropout keeps, (query, head, key), from uniform weights and one-hot values."""
    pairs = complete_pairs(torch.tensor([n]))
    pairs.edata["relation"] = torch.zeros(n * n, dtype=torch.int32)
    q = torch.zeros(n, heads, n)
    v = torch.eye(n).unsqueeze(1).expand(-1, heads, -1)
    z = relative_attention(pairs, q, q, v, None, None, None, dropout=dropout, backend="fused")
    assert set((z * n * (1 - dropout)).round(decimals=3).unique().tolist()) <= {0.0, 1.0}
    return (z > 0).double()


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_dropout_is_random(dropout):
    torch.manual_seed(11)
    keep_mask = torch.stack([draw_keep_mask(64, 9, dropout) for _ in range(6)])  # (seed, query, head, key)
    keep_mask -= 1 - dropout
    deviation = (dropout * (1 - dropout)) ** 0.5
    assert abs(float(keep_mask.mean())) < 4.5 * deviation / keep_mask.numel() ** 0.5
    for axis in range(4):  # no query, head, key or seed is favoured
        means = keep_mask.transpose(0, axis).flatten(1).mean(1)
        assert float(means.abs().max()) < 4.5 * deviation / (keep_mask.numel() / len(means)) ** 0.5
    for axis in range(4):  # and neighbours are not correlated
        for step in (1, 2, 4):
            size = keep_mask.shape[axis] - step
            a, b = keep_mask.narrow(axis, 0, size), keep_mask.narrow(axis, step, size)
            assert abs(float((a * b).mean())) < 4.5 * deviation**2 / a.numel() ** 0.5


def test_dropout_follows_torchs_generator():
    inputs = random_inputs([5, 30], 9, 4, 3)
    torch.manual_seed(1)
    first = output_and_gradients(inputs, "fused", dropout=0.4)
    second = output_and_gradients(inputs, "fused", dropout=0.4)
    torch.manual_seed(1)
    again = output_and_gradients(inputs, "fused", dropout=0.4)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], second[0])


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
def test_gradient_with_dropout(key_term):
    inputs = random_inputs([4, 1, 3], 2, 3, 4)
    q, k, v = (x.detach().clone().requires_grad_() for x in inputs.packed.unbind(1))

    def attend(*operands):
        torch.manual_seed(5)
        return relative_attention(inputs.pairs, *operands, key_term=key_term, dropout=0.4, backend="fused")

    assert torch.autograd.gradcheck(attend, (q, k, v, *inputs.tables))


def test_threads_change_rounding_only():
    inputs = random_inputs([2, 150, 3, 40, 1, 77], 9, 4, 5)
    results = []
    for count in (1, 2, 3, 7):
        torch.set_num_threads(count)
        torch.manual_seed(1)
        results.append(output_and_gradients(inputs, "fused", dropout=0.2))
    for result in results[1:]:
        for a, b in zip(result, results[0], strict=True):
            assert relative_error(a, b) < 1e-12


def test_runs_are_bit_identical_on_torchs_threads_and_on_pythons(monkeypatch):
    inputs = random_inputs([2, 150, 3, 40, 1, 77], 9, 4, 5)
    first = output_and_gradients(inputs, "fused")
    second = output_and_gradients(inputs, "fused")
    monkeypatch.setattr(openmp, "_torch_runtime", lambda: openmp.Runtime(0, 0, 0))
    third = output_and_gradients(inputs, "fused")
    for a, b, c in zip(first, second, third, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)


def test_several_callers_at_once():
    inputs = [random_inputs([30, 5, 17 + seed], 8, 4, 5, seed=seed) for seed in range(6)]
    expected = [output_and_gradients(x, "fused") for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: output_and_gradients(x, "fused"), inputs * 4))
    for result, wanted in zip(found, expected * 4, strict=True):
        assert all(relative_error(a, b) < 1e-12 for a, b in zip(result, wanted, strict=True))


@pytest.mark.parametrize("sizes", [[2, 2000, 2, 3, 40, 2], [24] * 128, [1], [500], [3, 2, 1, 1]])
@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_shares_are_balanced_and_complete(sizes, count):
    pairs = complete_pairs(torch.tensor(sizes))
    pairs.edata["relation"] = torch.zeros(pairs.num_edges(), dtype=torch.int32)
    plan = plan_of(pairs, count)
    assert len(plan.shares) == count + 1
    costs = []
    for thread in range(count):
        mine = plan.pieces[plan.shares[thread] : plan.shares[thread + 1]]
        costs.append(sum(int((last - first) * (sizes[graph] + ROW_COST)) for graph, first, last, _ in mine))
    done = [(int(g), i) for g, first, last, _ in plan.pieces for i in range(first, last)]
    assert done == [(g, i) for g, n in enumerate(sizes) for i in range(n)]
    # A cut falls on a whole block of four queries, at most two of them away from where it should be.
    assert max(costs) <= sum(costs) / count + 4 * (max(sizes) + ROW_COST)


@pytest.mark.slow
def test_sizes_that_differ_wildly():
    inputs = random_inputs([2, 2000, 3, 41], 2, 3, 7)
    found, expected = (output_and_gradients(inputs, backend) for backend in ("fused", "dense"))
    assert all(relative_error(a, b) < 1e-10 for a, b in zip(found, expected, strict=True))


def test_any_order_of_the_edges_and_int64_relations():
    inputs = random_inputs([4, 1, 6], 3, 4, 5)
    order = torch.randperm(inputs.pairs.num_edges(), generator=torch.Generator().manual_seed(0))
    # Within each graph, as a batch requires.
    order = order[torch.argsort(torch.bucketize(order, torch.tensor([16, 17]), right=True), stable=True)]
    src, dst = inputs.pairs.edges(order="eid")
    shuffled = dgl.graph((src[order], dst[order]), num_nodes=11)
    shuffled.set_batch_num_nodes(torch.tensor([4, 1, 6]))
    shuffled.set_batch_num_edges(torch.tensor([16, 1, 36]))
    shuffled.edata["relation"] = inputs.pairs.edata["relation"][order].long()
    expected = output_and_gradients(inputs, "fused")
    for backend in ("fused", "dense", "auto"):
        found = output_and_gradients(inputs._replace(pairs=shuffled), backend)
        assert all(relative_error(a, b) < 1e-12 for a, b in zip(found, expected, strict=True))


def test_a_changed_graph_is_seen():
    inputs = random_inputs([4, 6], 3, 4, 5)
    for backend in ("fused", "dense"):
        before, *_ = output_and_gradients(inputs, backend)
        inputs.pairs.edata["relation"][3] += 1
        inputs.pairs.edata["relation"] %= 5
        after, *_ = output_and_gradients(inputs, backend)
        expected, *_ = output_and_gradients(inputs, "dgl")
        assert not torch.equal(before, after)
        assert relative_error(after, expected) < 1e-12


def test_a_relation_the_tables_lack():
    inputs = random_inputs([4], 3, 4, 5)
    inputs.pairs.edata["relation"][7] = 5
    with pytest.raises(ValueError, match=r"is 5 at pair 7; accepted: 0\.\.4"):
        output_and_gradients(inputs, "fused")
    inputs.pairs.edata["relation"][7] = -1
    with pytest.raises(ValueError, match=r"is -1 at pair 7; accepted: 0\.\.4"):
        output_and_gradients(inputs, "fused")


@pytest.mark.parametrize("wrong", [-1, 2**31])
def test_a_relation_that_is_no_number_of_a_row(wrong):
    """Without tables there is no number of rows to compare with, and still no memory is read outside of an array."""
    inputs = random_inputs([4], 3, 4, 5, present=(False, False, False))
    relation = inputs.pairs.edata["relation"].long()
    relation[7] = wrong
    inputs.pairs.edata["relation"] = relation
    with pytest.raises(ValueError, match=rf"{wrong}.*; accepted: 0\.\.2147483647"):
        output_and_gradients(inputs, "fused")


def test_made_and_used_in_inference_mode():
    expected = output_and_gradients(random_inputs([4, 6], 3, 4, 5), "dgl")[0]
    with torch.inference_mode():
        inputs = random_inputs([4, 6], 3, 4, 5)
        z = relative_attention(inputs.pairs, *inputs.packed.unbind(1), *inputs.tables, backend="fused")
    assert relative_error(z, expected) < 1e-12


def test_exponential():
    @numba.njit
    def all_of(x, y):
        for i in range(len(x) // LANES):
            store(y, i, exp(load(x, i)))

    x = np.concatenate([np.linspace(-80, 0.5, 8000), [np.nan, -np.inf, -0.0, 0, -1000, -87.3, -1e-30, -1e30]])
    for dtype, error in ((np.float32, 2.5e-7), (np.float64, 5e-16)):
        given = x.astype(dtype)
        found = np.empty_like(given)
        all_of(given, found)
        np.testing.assert_allclose(found, np.exp(given), rtol=error, atol=1e-37)


def test_works_where_no_cache_can_be_written(monkeypatch):
    njit = numba.njit

    def no_cache(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", no_cache)
    assert decorator.compiled()(lambda x: x + 1)(2) == 3
