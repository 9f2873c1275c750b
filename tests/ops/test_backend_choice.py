import dgl
import pytest
import torch

from grpe_dgl.nn import GRPEAttention, GRPELayer
from grpe_dgl.ops import BACKENDS, DensePairs, relative_attention
from grpe_dgl.ops.backends import choose
from grpe_dgl.ops.dense import dense_attention
from grpe_dgl.ops.fused import fused_attention
from grpe_dgl.ops.message_passing import message_passing_attention
from tests.ops.attention_inputs import output_and_gradients, random_inputs, relative_error


def without_an_edge(pairs, edge=2):
    return dgl.remove_edges(pairs, edge)


def test_auto_takes_fused_on_the_cpu_dgl_where_pairs_miss_and_dense_elsewhere():
    inputs = random_inputs([4, 2], 3, 4, 5)
    q = inputs.packed[:, 0]
    assert choose("auto", inputs.pairs, q.device).load() is fused_attention
    assert choose("auto", without_an_edge(inputs.pairs), q.device).load() is message_passing_attention
    assert choose("auto", inputs.pairs, torch.device("meta")).load() is dense_attention
    assert choose("auto", without_an_edge(inputs.pairs), torch.device("meta")).load() is message_passing_attention


def test_incomplete_pairs():
    inputs = random_inputs([4, 2], 3, 4, 5)
    partial = inputs._replace(pairs=without_an_edge(inputs.pairs))
    expected = output_and_gradients(partial, "dgl")
    assert all(relative_error(a, b) == 0 for a, b in zip(output_and_gradients(partial, "auto"), expected, strict=True))
    for backend in ("fused", "dense"):
        with pytest.raises(ValueError, match=f'backend "{backend}" needs every pair .* use backend "dgl" or "auto"'):
            output_and_gradients(partial, backend)


@pytest.mark.parametrize("backend", ["fused", "dense"])
def test_as_many_edges_as_pairs_but_not_the_right_ones(backend):
    inputs = random_inputs([2, 2], 3, 4, 5)
    src, dst = inputs.pairs.edges(order="eid")
    for wrong in (torch.tensor([0, 0, 0, 1, 2, 3, 2, 3]), torch.tensor([0, 1, 0, 2, 2, 3, 2, 3])):
        pairs = dgl.graph((wrong, dst), num_nodes=4)
        pairs.set_batch_num_nodes(torch.tensor([2, 2]))
        pairs.set_batch_num_edges(torch.tensor([4, 4]))
        pairs.edata["relation"] = inputs.pairs.edata["relation"]
        with pytest.raises(ValueError, match="not complete"):
            output_and_gradients(inputs._replace(pairs=pairs), backend)


def test_wrong_choices_say_what_to_use():
    inputs = random_inputs([4, 2], 3, 4, 5)
    with pytest.raises(ValueError, match="backend is 'flash'; accepted: auto, fused, dense, dgl"):
        output_and_gradients(inputs, "flash")
    operands = [x.detach().to("meta") for x in inputs.packed.unbind(1)]
    with pytest.raises(ValueError, match='"fused" and q is on meta; accepted there: "dense", "dgl" or "auto"'):
        relative_attention(inputs.pairs, *operands, None, None, None, backend="fused")
    padded = DensePairs(torch.zeros(1, 2, 2, dtype=torch.int64), torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match='DensePairs; accepted: "dense" or "auto"'):
        relative_attention(padded, *torch.zeros(3, 1, 2, 3, 4), None, None, None, backend="fused")


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_graphs_and_no_nodes(backend):
    inputs = random_inputs([], 3, 4, 5)
    for x in output_and_gradients(inputs, backend):
        assert not x.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_autocast_and_bfloat16(backend):
    inputs = random_inputs([4, 7], 3, 4, 5, dtype=torch.float32)
    expected, *_ = output_and_gradients(inputs, "dgl")
    half = inputs.packed.detach().bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        z = relative_attention(inputs.pairs, *half.unbind(1), *inputs.tables, backend=backend)
    assert z.dtype == torch.bfloat16
    assert relative_error(z.float(), expected) < 0.05


@pytest.mark.parametrize("layer", [GRPEAttention(8, 2), GRPELayer(8, 2, 8).attention])
def test_auto_is_the_default(layer):
    assert layer.backend == "auto"
    assert relative_attention.__kwdefaults__["backend"] == "auto"
