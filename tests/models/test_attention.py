"""The attention weights of every family, compared with loops over numbers written from the layers' docstrings."""

import math

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.families import FAMILIES, model_class, settings_class
from tests.models.test_transformers import MODELS as TRANSFORMERS
from tests.training.tiny import write_dataset

GRPE = {"layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16, "max_distance": 2}
MODELS = {
    **TRANSFORMERS,
    "grpe": GRPE,
    "grpe_self": {**GRPE, "key_term": "self", "share_encodings": False, "edge_attention": False},
    "gat": {"layers": 2, "hidden_size": 16, "num_heads": 2, "dropout": 0.1},
}
GRAPHS = np.arange(5)


@pytest.fixture(params=MODELS)
def case(request, tmp_path):
    """A model in float64, a batch of graphs, and the inputs of every layer."""
    name = request.param
    settings = settings_class(name.split("_")[0])(**MODELS[name])
    folder = write_dataset(tmp_path / "tiny", "regression")
    prepare_encodings(Store(folder), settings.view.encodings)
    data = grpe_dgl.data.load(folder, view=settings.view)
    torch.manual_seed(0)
    model = build_model(settings, data.schema).double()
    for parameter in model.parameters():  # some start at zero, others so small that all weights are alike
        torch.nn.init.normal_(parameter, std=0.5)
    graph = data.batch(GRAPHS).graph
    inputs = []
    hooks = [layer.register_forward_pre_hook(lambda _, args: inputs.append(args)) for layer in model.layers]
    with torch.no_grad():
        model.eval()(graph)
    for hook in hooks:
        hook.remove()
    return name.split("_")[0], model, graph, inputs


def softmax(scores):
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def heads_of(x, count):
    """(N, count * width) -> nested lists: node, head, feature."""
    return x.detach().unflatten(-1, (count, -1)).tolist()


def graphs_of_nodes(sizes):
    first = 0
    for size in sizes:
        yield range(first, first + size)
        first += size


def keys_of(graph):
    """Each query's edges as (edge, key)."""
    found = {node: [] for node in range(graph.num_nodes())}
    for edge, (u, v) in enumerate(zip(*(end.tolist() for end in graph.edges(order="eid")), strict=True)):
        found[v].append((edge, u))
    return found


def naive_grpe(layer, graph, args, model):
    pairs, x, tables = args
    attention = layer.attention
    q, k, _ = attention.query_key_value(layer.attention_norm(x)).chunk(3, -1)
    q, k = heads_of(q, attention.num_heads), heads_of(k, attention.num_heads)
    query_table, key_table = tables.query.tolist(), tables.key.tolist()
    relation = pairs.edata["relation"].tolist()
    weights = torch.empty(pairs.num_edges(), attention.num_heads, dtype=torch.float64)
    for i, keys in keys_of(pairs).items():
        for h in range(attention.num_heads):
            scores = []
            for pair, j in keys:
                r = relation[pair]
                of_key = k[j][h] if attention.key_term == "neighbour" else k[i][h]
                score = dot(q[i][h], k[j][h]) + dot(q[i][h], query_table[r][h]) + dot(of_key, key_table[r][h])
                scores.append(score / math.sqrt(len(q[i][h])))
            for (pair, _), weight in zip(keys, softmax(scores), strict=True):
                weights[pair, h] = weight
    return weights


def naive_graphormer(layer, graph, args, model):
    padding, x, bias = args
    q, k, _ = layer.query_key_value(layer.attention_norm(x)).chunk(3, -1)
    q, k = heads_of(q, layer.num_heads), heads_of(k, layer.num_heads)
    rows = []
    for number, nodes in enumerate(graphs_of_nodes(graph.batch_num_nodes().tolist())):
        for i in nodes:
            weights = []
            for h in range(layer.num_heads):
                scores = [
                    dot(q[i][h], k[j][h]) / math.sqrt(len(q[i][h]))
                    + float(bias[number, h, i - nodes.start, j - nodes.start])
                    for j in nodes
                ]
                weights.append(softmax(scores))
            rows += zip(*weights, strict=True)
    return torch.tensor(rows, dtype=torch.float64)


def naive_egt(layer, graph, args, model):
    padding, x, e, _ = args
    q, k, _ = layer.query_key_value(layer.node_norm(x)).detach().chunk(3, -1)
    q, k = (part.unflatten(-1, (-1, layer.num_heads)).transpose(1, 2).tolist() for part in (q, k))
    bias = layer.edge_bias(layer.edge_norm(e)).tolist()
    rows, first = [], 0
    for nodes in graphs_of_nodes(padding.mask.sum(1).tolist()):
        for i in nodes:
            weights = []
            for h in range(layer.num_heads):
                scores = []
                for j in nodes:
                    product = dot(q[i][h], k[j][h]) / math.sqrt(len(q[i][h]))
                    pair = first + (i - nodes.start) * len(nodes) + j - nodes.start
                    scores.append(min(max(product, -5), 5) + bias[pair][h])
                weights.append(softmax(scores))
            rows += zip(*weights, strict=True)
        first += len(nodes) ** 2
    return torch.tensor(rows, dtype=torch.float64)


def naive_san(layer, graph, args, model):
    _, x, _, edge_table, added_vector = args
    parts = [heads_of(part, layer.num_heads) for part in layer.projections(x).chunk(5, -1)]
    types = heads_of(layer.edge(edge_table), layer.num_heads)
    added = heads_of(layer.added(added_vector), layer.num_heads)
    relation = graph.edata["relation"].tolist()
    weights = torch.zeros(graph.num_edges(), layer.num_heads, dtype=torch.float64)
    for i, keys in keys_of(graph).items():
        for h in range(layer.num_heads):
            found = {}
            for pair, j in keys:
                near = relation[pair] < model.num_edge_types
                q, k = (parts[0], parts[1]) if near else (parts[2], parts[3])
                factor = types[relation[pair]][h] if near else added[h]
                score = sum(a * b * c for a, b, c in zip(q[i][h], k[j][h], factor, strict=True)) / math.sqrt(
                    len(added[h])
                )
                scale = (1 if near else layer.gamma) / (1 + layer.gamma)
                if i != j:
                    found[pair] = math.exp(min(max(score, -5), 5)) * scale
            for pair, weight in found.items():
                weights[pair, h] = weight / sum(found.values())
    return weights


def naive_gt(layer, graph, args, model):
    _, x, e = args
    q, k, _ = (heads_of(part, layer.num_heads) for part in layer.query_key_value(x).chunk(3, -1))
    factor = None if layer.edge is None else heads_of(layer.edge(e), layer.num_heads)
    weights = torch.empty(graph.num_edges(), layer.num_heads, dtype=torch.float64)
    for i, keys in keys_of(graph).items():
        for h in range(layer.num_heads):
            scores = []
            for edge, j in keys:
                ones = [1.0] * len(q[i][h]) if factor is None else factor[edge][h]
                score = sum(a * b * c for a, b, c in zip(q[i][h], k[j][h], ones, strict=True)) / math.sqrt(len(ones))
                scores.append(min(max(score, -5), 5))
            for (edge, _), weight in zip(keys, softmax(scores), strict=True):
                weights[edge, h] = weight
    return weights


def naive_gat(layer, graph, args, model):
    _, x = args
    convolution = layer.convolution
    heads = convolution._num_heads
    state = heads_of(convolution.fc(x), heads)
    left, right = convolution.attn_l[0].tolist(), convolution.attn_r[0].tolist()
    weights = torch.empty(graph.num_edges(), heads, dtype=torch.float64)
    for i, keys in keys_of(graph).items():
        for h in range(heads):
            scores = [dot(left[h], state[j][h]) + dot(right[h], state[i][h]) for _, j in keys]
            for (edge, _), weight in zip(keys, softmax([max(s, 0.2 * s) for s in scores]), strict=True):
                weights[edge, h] = weight
    return weights


NAIVE = {
    "grpe": naive_grpe, "graphormer": naive_graphormer, "egt": naive_egt, "san": naive_san, "gt": naive_gt,
    "gat": naive_gat,
}  # fmt: skip


def test_equals_a_naive_loop_and_sums_to_one(case):
    family, model, graph, inputs = case
    model.train()
    found = model.attention(graph)
    assert all(module.training for module in model.modules())
    assert len(found) == len(model.layers)
    sizes = graph.batch_num_nodes() + model.added_virtual_nodes
    for layer, weights, args in zip(model.layers, found, inputs, strict=True):
        torch.testing.assert_close(weights, NAIVE[family](layer.eval(), graph, args, model), rtol=1e-9, atol=1e-12)
        if model.reads == "graph":
            query = graph.edges(order="eid")[1].long()
            sums = torch.zeros(graph.num_nodes(), weights.shape[1], dtype=weights.dtype).index_add(0, query, weights)
            sums = sums[graph.in_degrees() > 0]
        else:
            blocks = weights.split((sizes * sizes).tolist())
            sums = torch.cat([block.view(n, n, -1).sum(1) for block, n in zip(blocks, sizes.tolist(), strict=True)])
        torch.testing.assert_close(sums, torch.ones_like(sums))
        assert weights.std() > 1e-3


def test_families_with_attention_are_known_and_the_others_raise(tmp_path):
    assert {name for name in FAMILIES if model_class(name).has_attention} == set(NAIVE)
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "regression"))
    model = build_model(settings_class("gcn")(layers=2, hidden_size=8), data.schema)
    with pytest.raises(InputError, match="GCN has no attention weights"):
        model.attention(data.batch([0]).graph)


def test_the_only_node_of_a_graph_attends_to_itself_or_to_nothing(tmp_path):
    import dgl

    from tests.training.tiny import TASKS

    graph = dgl.graph(([], []), num_nodes=1)
    graph.ndata["feat"] = torch.zeros(1, 2, dtype=torch.int64)
    graph.edata["feat"] = torch.zeros(0, dtype=torch.int64)
    grpe_dgl.data.write(
        tmp_path / "one", [graph], np.zeros((1, 1)), {"train": np.arange(1)}, task=TASKS["regression"],
        node_vocabulary=(5, 5), num_edge_types=3,
    )  # fmt: skip
    for name, total in (("egt", 1.0), ("san", 0.0)):
        settings = settings_class(name)(**MODELS[name])
        prepare_encodings(Store(tmp_path / "one"), settings.view.encodings)
        data = grpe_dgl.data.load(tmp_path / "one", view=settings.view)
        for weights in build_model(settings, data.schema).attention(data.batch([0]).graph):
            assert weights.tolist() == [[total, total]]
