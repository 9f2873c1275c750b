import itertools

import dgl
import pytest
import torch
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.nn import GRPE, PRESETS
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from tests.naive import naive_attention
from tests.random_graphs import every_relation, make_graph

OGB_ATOM_COLUMNS = (119, 5, 12, 12, 10, 6, 6, 2, 2)


def small_model(**arguments):
    options = {"max_distance": 2, "num_edge_types": 3, "node_vocabulary": [5], "num_outputs": 3}
    torch.manual_seed(0)
    return GRPE(**{"layers": 2, "hidden_size": 14, "ffn_size": 11, "num_heads": 2, **options, **arguments}).double()


def naive_model(model, pairs, key_term):
    """The block as DESIGN writes it, with the naive loop for attention."""
    x = torch.where(pairs.ndata["virtual"].unsqueeze(1), model.virtual_node, model.nodes.embedding(pairs.ndata["feat"]))
    for index, layer in enumerate(model.layers):
        encodings = model.encodings[index % len(model.encodings)]
        y = layer.attention_norm(x)
        heads = layer.attention.num_heads
        qkv = layer.attention.query_key_value
        q, k, v = (
            F.linear(y, weight, bias).view(len(y), heads, -1)
            for weight, bias in zip(qkv.weight.chunk(3), qkv.bias.chunk(3), strict=True)
        )
        z = torch.tensor(naive_attention(pairs, q, k, v, encodings, key_term=key_term), dtype=torch.float64)
        x = x + layer.attention.output(z.flatten(1))
        y = layer.ffn_norm(x)
        y = F.linear(y, layer.ffn[0].weight, layer.ffn[0].bias)
        y = 0.5 * y * (1 + torch.erf(y / 2**0.5))
        x = x + F.linear(y, layer.ffn[2].weight, layer.ffn[2].bias)
    return model.head(model.final_norm(x))


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("topology, edge, value, share", list(itertools.product([True, False], repeat=4)))
@torch.no_grad()
def test_equals_the_naive_model(topology, edge, value, share, key_term):
    model = small_model(
        topology_attention=topology, edge_attention=edge, graph_value=value, share_encodings=share, key_term=key_term
    )
    pairs = every_relation()
    everywhere = naive_model(model, pairs, key_term)
    virtual = pairs.ndata["virtual"]
    torch.testing.assert_close(model(pairs), everywhere[virtual], rtol=0, atol=1e-12)
    model.level = "node"
    torch.testing.assert_close(model(pairs), everywhere[~virtual], rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("level", ["graph", "node"])
def test_renumbering_nodes(level):
    transform = dgl.transforms.Compose([AddVirtualNode(), ToPairGraph(2, 3)])
    edges = [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 4, 0), (6, 5, 1)]
    graph = make_graph(7, edges)
    order = torch.tensor([3, 6, 0, 2, 5, 1, 4])  # the new number of each node
    renumbered = make_graph(7, [(int(order[u]), int(order[v]), t) for u, v, t in edges])
    renumbered.ndata["feat"][order] = graph.ndata["feat"]
    model = small_model(level=level)
    before, after = model(transform(graph)), model(transform(renumbered))
    torch.testing.assert_close(after[order] if level == "node" else after, before, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("level", ["graph", "node"])
def test_a_graph_in_a_batch_gives_what_it_gives_alone(level):
    transform = dgl.transforms.Compose([AddVirtualNode(), ToPairGraph(2, 3)])
    graphs = [make_graph(1, []), make_graph(6, [(0, 1, 2), (3, 4, 1)]), make_graph(3, [(0, 1, 0), (1, 2, 0)])]
    model = small_model(level=level)
    alone = torch.cat([model(transform(graph)) for graph in graphs])
    torch.testing.assert_close(model(transform(dgl.batch(graphs))), alone, rtol=0, atol=1e-12)
    assert alone.shape == (3 if level == "graph" else 10, 3)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def break_down(model):
    parts = {"nodes": count(model.nodes), "virtual node": model.virtual_node.numel()}
    parts["encodings"] = count(model.encodings)
    parts["layers"] = count(model.layers)
    parts["final norm"] = count(model.final_norm)
    parts["head"] = count(model.head)
    assert sum(parts.values()) == count(model)
    return parts


def block_size(hidden, ffn):
    """Norms, projections to query, key, value and out, FFN."""
    return 4 * hidden + 4 * (hidden * hidden + hidden) + 2 * hidden * ffn + ffn + hidden


@pytest.mark.parametrize(
    "preset, data, total",
    [
        ("tiny", {"node_vocabulary": [28], "num_edge_types": 4, "num_outputs": 1}, 105_985),
        ("small", {"node_vocabulary": [28], "num_edge_types": 4, "num_outputs": 1}, 476_801),
        ("standard", {"node_vocabulary": OGB_ATOM_COLUMNS, "num_edge_types": 60, "num_outputs": 1}, 42_862_081),
        ("large", {"node_vocabulary": OGB_ATOM_COLUMNS, "num_edge_types": 60, "num_outputs": 1}, 113_833_985),
    ],
)
def test_parameter_counts(preset, data, total):
    size = PRESETS[preset]
    hidden = size["hidden_size"]
    with torch.device("meta"):
        model = GRPE.from_preset(preset, max_distance=5, **data)
    assert break_down(model) == {
        "nodes": sum(data["node_vocabulary"]) * hidden,
        "virtual node": hidden,
        "encodings": 3 * ((5 + 4) + (data["num_edge_types"] + 3)) * hidden,
        "layers": size["layers"] * block_size(hidden, size["ffn_size"]),
        "final norm": 2 * hidden,
        "head": hidden + 1,
    }
    assert count(model) == total


@pytest.mark.parametrize("preset, authors", [("standard", 46_199_041), ("large", 118_283_265)])
def test_difference_from_the_authors_counts(preset, authors):
    """46.2M and 118.3M in the paper: the authors' 4,609 node rows, max_hop + 3 = 8 and 30 + 4 table rows."""
    hidden = PRESETS[preset]["hidden_size"]
    with torch.device("meta"):
        ours = GRPE.from_preset(
            preset, max_distance=5, node_vocabulary=OGB_ATOM_COLUMNS, num_edge_types=60, num_outputs=1
        )
    unused_node_rows = 4_609 - sum(OGB_ATOM_COLUMNS)
    added_distance_rows, added_edge_rows = (5 + 4) - 8, (60 + 3) - 34
    assert authors - count(ours) == (unused_node_rows - 3 * (added_distance_rows + added_edge_rows)) * hidden


@pytest.mark.parametrize("switch, tables", [("topology_attention", 2), ("edge_attention", 2), ("graph_value", 2)])
def test_a_table_switched_off_does_not_exist(switch, tables):
    whole, less = small_model(), small_model(**{switch: False})
    gone = set(whole.state_dict()) - set(less.state_dict())
    assert len(gone) == tables and all("encodings" in name for name in gone)


def test_unshared_encodings_are_one_set_per_layer():
    assert len(small_model(layers=3, share_encodings=False).encodings) == 3
    assert len(small_model(layers=3).encodings) == 1


def test_input_noise_stays_within_its_bounds_and_off_the_virtual_node():
    model = small_model(input_noise=0.25)
    pairs = every_relation()
    feat, virtual = pairs.ndata["feat"].unsqueeze(1), pairs.ndata["virtual"]
    noise = model.embed(feat, virtual) - model.eval().embed(feat, virtual)
    assert (noise[virtual] == 0).all()
    assert 0.2 < noise[~virtual].abs().max() <= 0.25 and noise.min() < -0.2
    assert torch.equal(model.embed(feat, virtual), model.embed(feat, virtual))


@pytest.mark.parametrize("codes", [{"max_distance": 3}, {"num_edge_types": 4}])
def test_a_pair_graph_of_other_codes_is_refused(codes):
    model = small_model()
    graph = dgl.graph(([0, 1, 2], [1, 2, 3]))
    graph.ndata["feat"] = torch.tensor([0, 1, 2, 3])
    graph.edata["feat"] = torch.tensor([0, 1, 0])
    right = ToPairGraph(2, 3)(AddVirtualNode()(graph))
    assert model(right.to("cpu")).shape == (1, 3)
    wrong = ToPairGraph(**{"max_distance": 2, "num_edge_types": 3, **codes})(AddVirtualNode()(graph))
    with pytest.raises(InputError, match="the pair graph was made with max_distance . and num_edge_types ., the model"):
        model(wrong.to("cpu"))


def test_dropout_acts_in_training_only():
    model = small_model(dropout=0.5, attention_dropout=0.5)
    pairs = every_relation()
    assert not torch.equal(model(pairs), model(pairs))
    model.eval()
    assert torch.equal(model(pairs), model(pairs))


def test_continuous_features_go_through_a_linear_map():
    model = small_model(node_vocabulary=None, node_features=4, head_sizes=(9, 6))
    pairs = every_relation()
    pairs.ndata["feat"] = torch.randn(pairs.num_nodes(), 4)
    assert model.nodes.weight.shape == (14, 4)
    assert [tuple(layer.shape) for layer in model.head.parameters() if layer.dim() == 2] == [(9, 14), (6, 9), (3, 6)]
    before = model(pairs)
    pairs.ndata["feat"][pairs.ndata["virtual"]] += 1  # whatever stands in the virtual node's row is not read
    assert torch.equal(model(pairs), before)
    pairs.ndata["feat"][~pairs.ndata["virtual"]] += 1
    assert not torch.allclose(model(pairs), before)


def test_several_columns_are_summed():
    model = small_model(node_vocabulary=[2, 3])
    rows = model.nodes.embedding.weight
    assert torch.equal(model.nodes(torch.tensor([[1, 2], [0, 0]])), torch.stack([rows[1] + rows[4], rows[0] + rows[2]]))


@pytest.mark.parametrize(
    "feat, message",
    [
        (torch.tensor([0, 1, 5]), r'ndata\["feat"\] is 5 at node 2, column 0; accepted: 0\.\.4'),
        (torch.tensor([0, -1, 3]), r'ndata\["feat"\] is -1 at node 1, column 0; accepted: 0\.\.4'),
        (torch.zeros(3, 2, dtype=torch.int64), r"has shape \(3, 2\); accepted: \(N, 1\)"),
        (torch.zeros(3), r"has dtype torch.float32; this model takes integer columns"),
    ],
)
def test_node_features_that_do_not_fit(feat, message):
    graph = make_graph(3, [])
    graph.ndata["feat"] = feat
    with pytest.raises(InputError, match=message):
        small_model(level="node")(ToPairGraph(2, 3)(graph))


def test_graph_level_needs_a_virtual_node():
    with pytest.raises(InputError, match="apply grpe_dgl.transforms.AddVirtualNode first"):
        small_model()(ToPairGraph(2, 3)(make_graph(3, [])))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"num_heads": 3}, "hidden_size is 14 and num_heads 3; accepted: heads that divide it"),
        ({"level": "edge"}, "level is 'edge'; accepted: graph, node"),
        ({"node_features": 3}, "give either node_vocabulary .* or node_features"),
        ({"node_vocabulary": []}, r"node_vocabulary is \(\); accepted: at least one column"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(InputError, match=message):
        small_model(**arguments)


def test_unknown_preset():
    with pytest.raises(InputError, match="preset is 'huge'; accepted: tiny, small, standard, large"):
        GRPE.from_preset("huge")


@pytest.mark.parametrize("level", ["graph", "node"])
def test_overfits_sixteen_random_graphs(level):
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    graphs = []
    for _ in range(16):
        n = int(torch.randint(4, 9, (1,), generator=generator))
        edges = torch.randint(0, n, (2, 2 * n), generator=generator)
        graph = dgl.graph((edges[0], edges[1]), num_nodes=n)
        graph.edata["feat"] = torch.randint(0, 3, (2 * n,), generator=generator)
        graph.ndata["feat"] = torch.randperm(28, generator=generator)[:n]  # no two nodes alike
        graphs.append(graph)
    pairs = dgl.transforms.Compose([AddVirtualNode(), ToPairGraph(5, 3)])(dgl.batch(graphs))
    model = GRPE.from_preset("tiny", level=level, num_outputs=2, max_distance=5, num_edge_types=3, node_vocabulary=[28])
    label = torch.randint(0, 2, (len(model(pairs)),), generator=generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(60):
        loss = F.cross_entropy(model(pairs), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    assert (model(pairs).argmax(1) == label).all()
