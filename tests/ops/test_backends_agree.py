import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grpe_dgl.ops import relative_attention
from tests.ops.attention_inputs import output_and_gradients, random_inputs, relative_error


@pytest.fixture(autouse=True)
def one_thread():
    """Inputs this small only wait for threads; `test_fused` is about them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@pytest.mark.parametrize("backend", ["fused", "dense"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sizes=st.lists(st.integers(1, 21), min_size=1, max_size=5),
    heads=st.integers(1, 19),
    head_size=st.integers(1, 13),
    relations=st.integers(1, 11),
    key_term=st.sampled_from(["neighbour", "self"]),
    present=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    seed=st.integers(0, 2**31),
)
def test_forward_and_gradients(backend, dtype, sizes, heads, head_size, relations, key_term, present, seed):
    inputs = random_inputs(sizes, heads, head_size, relations, dtype=dtype, present=present, seed=seed)
    expected = output_and_gradients(inputs, "dgl", key_term=key_term)
    found = output_and_gradients(inputs, backend, key_term=key_term)
    # Both sides round, a graph of one node has gradients that are nothing but that: hence against the largest of all.
    scale = max(float(x.abs().max()) for x in expected)
    for a, b in zip(found, expected, strict=True):
        assert float((a - b).abs().max()) <= TOLERANCE[dtype] * max(scale, 1e-3)


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_graphs_larger_than_a_tile(dtype, key_term):
    torch.set_num_threads(2)
    inputs = random_inputs([2, 131, 1, 64, 65, 197], 11, 5, 7, dtype=dtype)
    expected = output_and_gradients(inputs, "dgl", key_term=key_term)
    for backend in ("fused", "dense"):
        for a, b in zip(output_and_gradients(inputs, backend, key_term=key_term), expected, strict=True):
            assert relative_error(a, b) <= TOLERANCE[dtype]


@pytest.mark.parametrize("backend", ["fused", "dense", "dgl"])
def test_gradcheck(backend):
    inputs = random_inputs([3, 1, 2], 2, 3, 5)
    q, k, v = (x.detach().clone().requires_grad_() for x in inputs.packed.unbind(1))

    def attend(*operands):
        return relative_attention(inputs.pairs, *operands, backend=backend)

    assert torch.autograd.gradcheck(attend, (q, k, v, *inputs.tables))


@pytest.mark.parametrize("backend", ["fused", "dense", "dgl"])
def test_scores_far_apart_stay_finite(backend):
    inputs = random_inputs([5, 9], 3, 4, 5, dtype=torch.float32)
    far = inputs._replace(packed=(inputs.packed * 300).detach().requires_grad_())
    assert all(bool(x.isfinite().all()) for x in output_and_gradients(far, backend))


@pytest.mark.parametrize("backend", ["fused", "dense", "dgl"])
def test_nan_is_seen_and_stays_in_its_graph(backend):
    inputs = random_inputs([5, 9], 3, 4, 5, dtype=torch.float32)
    packed = inputs.packed.detach().clone()
    packed[2, 0, 1, 3] = float("nan")  # node 2's query in head 1
    z, *_ = output_and_gradients(inputs._replace(packed=packed.requires_grad_()), backend)
    nan = z.isnan()
    assert bool(nan[2, 1].all())
    assert int(nan.sum()) == 4


@pytest.mark.parametrize("backend", ["fused", "dgl"])
def test_mean_over_dropped_weights_is_the_whole(backend):
    inputs = random_inputs([6, 4], 3, 4, 5, dtype=torch.float32)
    whole, *_ = output_and_gradients(inputs, backend)
    torch.manual_seed(3)
    rounds = 300
    runs = torch.stack([output_and_gradients(inputs, backend, dropout=0.3)[0] for _ in range(rounds)])
    standard_error = runs.std(0) / rounds**0.5
    assert float(((runs.mean(0) - whole) / standard_error).abs().max()) < 5.0
