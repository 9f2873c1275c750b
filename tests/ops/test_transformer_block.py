"""A block as one operation equals the block composed of torch's operations, forward and backward."""

import dgl
import pytest
import torch
from torch.nn import functional as F

from grpe_dgl.nn import GRPE, GRPELayer, RelationEncodings
from grpe_dgl.ops import transformer_block
from grpe_dgl.ops.transformer_block import fused_pairs, of_first_nodes
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph

HIDDEN, HEADS, FFN = 33, 3, 14


@pytest.fixture
def pairs() -> dgl.DGLGraph:
    torch.manual_seed(0)
    graphs = [dgl.rand_graph(n, edges) for n, edges in ((5, 7), (1, 0), (11, 19))]
    for graph in graphs:
        graph.ndata["feat"] = torch.randint(7, (graph.num_nodes(), 1))
    return ToPairGraph(3, 1)(AddVirtualNode()(dgl.batch(graphs)))


def layer_and_inputs(pairs, dtype=torch.float64, **options):
    torch.manual_seed(1)
    layer = GRPELayer(HIDDEN, HEADS, FFN, **options).to(dtype)
    encodings = RelationEncodings(3, 1, HIDDEN, HEADS).to(dtype)
    for parameter in layer.parameters():  # norms of ones and zeros would hide a wrong factor
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    x = torch.randn(pairs.num_nodes(), HIDDEN, dtype=dtype, requires_grad=True)
    return layer, encodings, x


def prepared(pairs, layer, x, tables):
    heads = x.unflatten(-1, (HEADS, -1))
    found = fused_pairs(pairs, heads, [tables], key_term=layer.attention.key_term, backend="auto")
    assert found is not None
    return found


def gradients(layer, encodings, x, out):
    weight = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view(out.shape)
    return torch.autograd.grad((out * weight).sum(), [x, *layer.parameters(), *encodings.parameters()])


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_block_equals_the_composed_layer(pairs, key_term, dropout):
    layer, encodings, x = layer_and_inputs(pairs, dropout=dropout, attention_dropout=dropout, key_term=key_term)
    results = []
    for given in ("graph", "prepared"):
        tables = encodings()
        torch.manual_seed(2)  # of the dropout masks
        out = layer(pairs if given == "graph" else prepared(pairs, layer, x, tables), x, tables)
        results.append((out, *gradients(layer, encodings, x, out)))
    for composed, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, composed, rtol=1e-10, atol=1e-11)


def test_block_is_the_formula(pairs):
    layer, encodings, x = layer_and_inputs(pairs)
    tables = encodings()
    out = layer(prepared(pairs, layer, x, tables), x, tables)
    normed = F.layer_norm(x, (HIDDEN,), layer.attention_norm.weight, layer.attention_norm.bias)
    q, k, v = layer.attention.query_key_value(normed).view(-1, 3, HEADS, HIDDEN // HEADS).unbind(1)
    z = torch.zeros_like(v)
    src, dst = (node.tolist() for node in pairs.edges(order="eid"))
    relation = pairs.edata["relation"].tolist()
    for node in range(pairs.num_nodes()):
        own = [pair for pair in range(len(dst)) if dst[pair] == node]
        for head in range(HEADS):
            scores, values = [], []
            for pair in own:
                j, r = src[pair], relation[pair]
                scores.append(
                    q[node, head] @ k[j, head]
                    + q[node, head] @ tables.query[r, head]
                    + k[j, head] @ tables.key[r, head]
                )
                values.append(v[j, head] + tables.value[r, head])
            z[node, head] = (torch.stack(scores) / (HIDDEN // HEADS) ** 0.5).softmax(0) @ torch.stack(values)
    y = x + layer.attention.output(z.flatten(1))
    expected = y + layer.ffn(layer.ffn_norm(y))
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-11)


def test_block_of_the_first_nodes(pairs):
    layer, encodings, x = layer_and_inputs(pairs)
    first = of_first_nodes(pairs, HEADS)
    assert first.rows.tolist() == [0, 6, 8]
    out = layer(first, x, encodings())
    expected = layer(pairs, x, encodings())[first.rows]
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-11)
    own = gradients(layer, encodings, x, out)
    for fused, composed in zip(own, gradients(layer, encodings, x, expected), strict=True):
        torch.testing.assert_close(fused, composed, rtol=1e-10, atol=1e-11)


def test_values_that_are_computed_again_change_nothing(pairs, monkeypatch):
    layer, encodings, x = layer_and_inputs(pairs, dropout=0.2)
    results = []
    for kept_bytes in (2**20, 0):
        monkeypatch.setattr("grpe_dgl.ops.fused.block.KEPT_BYTES", kept_bytes)
        tables = encodings()
        torch.manual_seed(2)
        out = layer(prepared(pairs, layer, x, tables), x, tables)
        results.append(gradients(layer, encodings, x, out))
    for kept, again in zip(*results, strict=True):
        assert torch.equal(kept, again)


def test_frozen_weights_have_no_gradient(pairs):
    layer, encodings, x = layer_and_inputs(pairs)
    layer.ffn.requires_grad_(False)
    tables = encodings()
    layer(prepared(pairs, layer, x, tables), x, tables).sum().backward()
    assert all(parameter.grad is None for parameter in layer.ffn.parameters())
    assert layer.attention.query_key_value.weight.grad is not None


def model_of(**options):
    torch.manual_seed(0)
    return GRPE(
        layers=2,
        hidden_size=HIDDEN,
        ffn_size=FFN,
        num_heads=HEADS,
        num_outputs=2,
        max_distance=3,
        num_edge_types=1,
        node_vocabulary=(7,),
        **options,
    )


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("share", [True, False])
def test_model_equals_the_composed_one(pairs, level, share, monkeypatch):
    model = model_of(level=level, share_encodings=share).double()
    results = []
    for applies in (True, False):
        if not applies:
            monkeypatch.setattr("grpe_dgl.models.grpe.layers.fused_pairs", lambda *args, **options: None)
        out = model(pairs)
        results.append((out, *torch.autograd.grad(out.square().sum(), list(model.parameters()))))
    for fused, composed in zip(*results, strict=True):
        torch.testing.assert_close(fused, composed, rtol=1e-9, atol=1e-11)


def calls(monkeypatch) -> list[int]:
    """Return a list that grows by one with every block that is computed as one operation."""
    made: list[int] = []
    original = transformer_block.transformer_block

    def counted(*arguments, **options):
        made.append(1)
        return original(*arguments, **options)

    monkeypatch.setattr("grpe_dgl.models.grpe.layer.transformer_block", counted)
    return made


def test_it_is_used_in_training(pairs, monkeypatch):
    made = calls(monkeypatch)
    model_of(dropout=0.1)(pairs)
    assert len(made) == 2


def test_hooks_other_backends_autocast_and_other_modules_switch_it_off(pairs, monkeypatch):
    made = calls(monkeypatch)
    hooked = model_of()
    seen = []
    hooked.layers[1].ffn.register_forward_hook(lambda module, arguments, output: seen.append(1))
    hooked.layers[0].attention.output.register_forward_hook(lambda module, arguments, output: seen.append(1))
    hooked(pairs)
    assert len(seen) == 1  # the FFN's parts are called one by one: a hook of the whole is not
    model_of(backend="dgl")(pairs)
    with torch.autocast("cpu", torch.bfloat16):
        model_of()(pairs)
    other = model_of()
    other.layers[0].ffn[1] = torch.nn.ReLU()
    other(pairs)
    assert not made
