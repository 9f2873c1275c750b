import pytest
import torch
from torch import nn

from grpe_dgl.nn import GRPELayer, RelationEncodings
from grpe_dgl.ops import DensePairs, relative_attention
from grpe_dgl.transforms.pair_structure import complete_pairs
from tests.ops.attention_inputs import output_and_gradients, random_inputs, relative_error


class Stack(nn.Module):
    """Two layers over a padded batch, as an exported model has them: tensors in, tensors out."""

    def __init__(self, key_term="neighbour"):
        super().__init__()
        self.encodings = RelationEncodings(3, 2, hidden_size=12, num_heads=3)
        self.layers = nn.ModuleList(GRPELayer(12, 3, 20, key_term=key_term) for _ in range(2))

    def forward(self, nodes, relation, mask):
        tables = self.encodings()
        for layer in self.layers:
            nodes = layer(DensePairs(relation, mask), nodes, tables)
        return nodes


def padded_batch(sizes, hidden_size=12, relations=8, most=None):
    generator = torch.Generator().manual_seed(0)
    most = most or max(sizes)
    nodes = torch.randn(len(sizes), most, hidden_size, generator=generator)
    relation = torch.randint(relations, (len(sizes), most, most), generator=generator)
    return nodes, relation, torch.arange(most) < torch.tensor(sizes).unsqueeze(-1)


def ragged(nodes, relation, mask):
    pairs = complete_pairs(mask.sum(1))
    pairs.edata["relation"] = relation[mask.unsqueeze(-1) & mask.unsqueeze(-2)]
    return pairs, nodes[mask]


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
def test_layers_on_a_padded_batch_equal_layers_on_the_pair_graph(key_term):
    torch.manual_seed(0)
    stack = Stack(key_term).eval()
    nodes, relation, mask = padded_batch([5, 1, 7])
    pairs, x = ragged(nodes, relation, mask)
    for layer in stack.layers:
        x = layer(pairs, x, stack.encodings())
    torch.testing.assert_close(stack(nodes, relation, mask)[mask], x, rtol=1e-5, atol=1e-5)


def test_padding_changes_nothing_and_comes_out_as_zero():
    nodes, relation, mask = padded_batch([5, 1, 7], hidden_size=12)
    wider, more_relations, more = padded_batch([5, 1, 7], most=11)
    wider[:, :7], more_relations[:, :7, :7] = nodes, relation
    tables = torch.randn(3, 8, 3, 4)

    def attend(x, *pairs):
        heads = x.unflatten(-1, (3, 4))
        return relative_attention(DensePairs(*pairs), heads, heads, heads, *tables)

    narrow, wide = attend(nodes, relation, mask), attend(wider, more_relations, more)
    torch.testing.assert_close(wide[:, :7][mask], narrow[mask])
    assert not wide[~more].any()


def test_a_graph_that_is_all_padding_is_zero_and_not_nan():
    nodes, relation, _ = padded_batch([5, 5])
    mask = torch.tensor([[True] * 5, [False] * 5])
    heads = nodes.unflatten(-1, (3, 4)).requires_grad_()
    z = relative_attention(DensePairs(relation, mask), heads, heads, heads, *torch.randn(3, 8, 3, 4))
    assert not z[1].any()
    z.sum().backward()
    assert bool(heads.grad.isfinite().all())


def test_dropout_is_inverted_and_its_mean_is_the_whole():
    inputs = random_inputs([6, 4], 3, 4, 5, dtype=torch.float32)
    whole, *_ = output_and_gradients(inputs, "dense")
    torch.manual_seed(3)
    runs = torch.stack([output_and_gradients(inputs, "dense", dropout=0.3)[0] for _ in range(300)])
    assert float(((runs.mean(0) - whole) / (runs.std(0) / 300**0.5)).abs().max()) < 5.0


@pytest.mark.slow
def test_export_with_free_batch_and_node_counts():
    torch.manual_seed(0)
    stack = Stack().eval()
    batch, most = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("most", min=2, max=512)
    shapes = {"nodes": {0: batch, 1: most}, "relation": {0: batch, 1: most, 2: most}, "mask": {0: batch, 1: most}}
    program = torch.export.export(stack, padded_batch([5, 3, 7]), dynamic_shapes=shapes)
    for sizes in ([5, 1, 7], [9, 4], [13]):
        inputs = padded_batch(sizes)
        torch.testing.assert_close(program.module()(*inputs), stack(*inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_compile_as_one_graph():
    torch.manual_seed(0)
    stack = Stack()
    inputs = padded_batch([5, 1, 7])
    # "aot_eager" traces forward and backward without needing a C++ compiler on the machine.
    found = torch.compile(stack, fullgraph=True, backend="aot_eager")(*inputs)
    expected = stack(*inputs)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    parameters = list(stack.parameters())
    for a, b in zip(
        torch.autograd.grad(found.sum(), parameters), torch.autograd.grad(expected.sum(), parameters), strict=True
    ):
        assert relative_error(a, b) < 1e-4
