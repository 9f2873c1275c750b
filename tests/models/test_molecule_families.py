"""GINE, GINE+, DGN, DeeperGCN, PHC-GNN and GCN-GraphNorm: published sizes, symmetries, learning."""

import numpy as np
import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.errors import InputError
from grpe_dgl.families import settings_class
from grpe_dgl.recipe import Recipe
from grpe_dgl.schema import Task, known_schema
from tests.models.small_graphs import batch, permuted, random_graph, randomise, schema, unusual_graphs

MODELS = {
    "gine": {"name": "gine", "layers": 3, "hidden_size": 6},
    "gine_plain": {"name": "gine", "layers": 2, "hidden_size": 5, "virtual_node": False},
    "gineplus": {"name": "gine", "convolution": "gine+", "radius": 2, "layers": 3, "hidden_size": 6},
    "dgn_simple": {"name": "dgn", "layers": 2, "hidden_size": 8},
    "dgn_complex": {
        "name": "dgn", "layer": "complex", "layers": 2, "hidden_size": 8, "edge_size": 3, "graph_norm": True,
        "aggregators": ["sum", "dir1-dx", "max"], "scalers": ["identity", "amplification", "attenuation"],
        "readout": "sum", "mean_log_degree": 1.1,
    },
    "deepergcn": {"name": "deepergcn", "layers": 3, "hidden_size": 6, "learn_temperature": True},
    "deepergcn_vn": {
        "name": "deepergcn", "layers": 3, "hidden_size": 6, "virtual_node": True, "mlp_layers": 2,
        "aggregation": "softmax_sg", "temperature": 0.1,
    },
    "phc_sum": {
        "name": "phc", "components": 3, "layers": 2, "hidden_size": 12, "head_sizes": [6], "head_dropout": [0.0],
    },
    "phc_mlp": {
        "name": "phc", "components": 2, "layers": 2, "hidden_size": 8, "aggregation": "softmax", "mlp": True,
        "skip": "last",
    },
    "graphnorm": {"name": "graphnorm", "layers": 3, "hidden_size": 6},
}  # fmt: skip
PUBLISHED = [  # family, preset, vocabulary, outputs, parameters
    ("gine", "gineplus", "ogb", 128, 5_946_528),
    ("gine", "gine_vn", "ogb", 128, 5_939_733),
    ("dgn", "zinc", "zinc", 1, 4_948_317),
    ("dgn", "molhiv", "ogb", 1, 114_135),
    ("dgn", "molpcba", "ogb", 128, 6_733_176),
    ("deepergcn", "molhiv", "ogb", 1, 532_232),
    ("deepergcn", "molpcba_vn", "ogb", 128, 5_550_464),
    ("phc", "molhiv", "ogb", 1, 111_109),
    ("phc", "molpcba", "ogb", 128, 1_690_840),
    ("graphnorm", "molhiv", "ogb", 1, 431_701),
]
each_model = pytest.mark.parametrize("name", MODELS)


def settings_of(name, **changes):
    model = {**MODELS[name], "dropout": 0.0, **changes}
    return Recipe.from_dict({"dataset": "x", "model": model, "training": {"batch_size": 4, "epochs": 1}}).model


def build(name, level="graph", **changes):
    settings = settings_of(name, **changes)
    torch.manual_seed(0)
    return build_model(settings, schema(level)), settings


def some_graphs(count=5, seed=0):
    rng = np.random.default_rng(seed)
    return [random_graph(rng, int(rng.integers(3, 10))) for _ in range(count)]


@pytest.mark.parametrize(("family", "preset", "vocabulary", "outputs", "parameters"), PUBLISHED)
def test_published_sizes(family, preset, vocabulary, outputs, parameters):
    task = Task(level="graph", kind="binary", targets=tuple(map(str, range(outputs))), metric="rocauc")
    data = known_schema(vocabulary, name="x", task=task)
    model = {"name": family, "preset": preset}
    settings = Recipe.from_dict({"dataset": "x", "model": model, "training": {"batch_size": 4, "epochs": 1}}).model
    assert settings.title() == preset and settings == settings_class(family)(**settings.PRESETS[preset])
    assert settings.count_parameters(data) == parameters
    assert sum(parameter.numel() for parameter in build_model(settings, data).parameters()) == parameters


@each_model
@pytest.mark.parametrize("level", ["graph", "node"])
def test_parameters_are_counted_without_building_the_model(name, level):
    model, settings = build(name, level)
    assert settings.count_parameters(schema(level)) == sum(parameter.numel() for parameter in model.parameters())


@each_model
def test_a_batch_is_its_graphs_one_by_one(name):
    model, settings = build(name)
    randomise(model.double()).eval()
    graphs = some_graphs() + unusual_graphs()
    together = model(batch(graphs, schema(), settings.view)).detach()
    alone = torch.cat([model(batch([graph], schema(), settings.view)) for graph in graphs])
    assert together.shape == (9, 2) and torch.isfinite(together).all()
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-9)
    assert len({round(float(value), 6) for value in together[:5, 0]}) == 5
    prints = model.fingerprint(batch(graphs, schema(), settings.view), 2)
    assert prints.shape == (9, model.fingerprint_size(2)) and model.fingerprint_layers == settings.layers
    lengths = torch.stack([part.norm(dim=-1) for part in prints.chunk(2, -1)])
    assert torch.isclose(lengths[-1], torch.ones(9)).all()
    assert (torch.isclose(lengths[0], torch.ones(9)) | (lengths[0] == 0)).all()  # ReLU may leave nothing


@each_model
@pytest.mark.parametrize("level", ["graph", "node"])
def test_the_order_of_nodes_and_edges_does_not_matter(name, level):
    model, settings = build(name, level)
    randomise(model.double()).eval()
    graphs = some_graphs()
    orders = [np.random.default_rng(1).permutation(len(graph[0])) for graph in graphs]
    other = [permuted(graph, order) for graph, order in zip(graphs, orders, strict=True)]
    ours = model(batch(graphs, schema(level), settings.view))
    theirs = model(batch(other, schema(level), settings.view))
    if level == "node":
        first = np.cumsum([0] + [len(order) for order in orders])
        ours = ours[np.concatenate([start + order for start, order in zip(first, orders, strict=False)])]
    # DGN's eigenvectors are stored as float32
    torch.testing.assert_close(ours, theirs, rtol=1e-4 if name.startswith("dgn") else 1e-9, atol=1e-5)


@each_model
def test_every_input_and_parameter_counts(name):
    """One step in training mode: a gradient for every parameter, and edges and node columns change the output."""
    model, settings = build(name)
    randomise(model.double())
    graphs = some_graphs(12)
    if settings.NAME == "graphnorm":
        model.head[1].p = 0.0
    output = model.train()(batch(graphs, schema(), settings.view))
    (output * torch.randn_like(output)).sum().backward()
    without = [key for key, parameter in model.named_parameters() if not bool(parameter.grad.abs().sum() > 0)]
    assert without == []
    model.eval()
    before = model(batch(graphs, schema(), settings.view))
    nodes, src, dst, code = graphs[0]
    changed = [(nodes, src, dst, (code + 1) % 6), *graphs[1:]]
    reads_edges = name != "dgn_simple"  # as in the original
    assert torch.equal(model(batch(changed, schema(), settings.view))[0], before[0]) != reads_edges
    for column, size in enumerate((7, 3)):
        other = nodes.copy()
        other[0, column] = (other[0, column] + 1) % size
        assert not torch.equal(
            model(batch([(other, src, dst, code), *graphs[1:]], schema(), settings.view))[0], before[0]
        )


@each_model
def test_trains_on_unusual_graphs_and_on_a_single_one(name):
    for graphs in (unusual_graphs(), unusual_graphs()[:1], some_graphs(1)):
        model, settings = build(name)
        model.train()(batch(graphs, schema(), settings.view)).sum().backward()
        for key, parameter in model.named_parameters():
            assert parameter.grad is None or torch.isfinite(parameter.grad).all(), key
        assert all(torch.isfinite(value).all() for value in model.state_dict().values())


@each_model
def test_overfits_sixteen_graphs(name):
    width = {"hidden_size": 24}
    model, settings = build(name, **width)
    if settings.NAME == "graphnorm":
        model.head[1].p = 0.0
    graph = batch(some_graphs(16, seed=3), schema(), settings.view)
    target = torch.randn(16, 2, generator=torch.Generator().manual_seed(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(300):
        loss = (model(graph) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if losses[-1] < 0.05 * losses[0]:
            break
    assert losses[-1] < 0.05 * losses[0], losses[::50]


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("gine", "layers", 0, "model.layers is 0; accepted: 1 or more"),
        ("gine", "dropout", 1.0, "model.dropout is 1.0; accepted: 0 to below 1"),
        ("gineplus", "radius", 0, "model.radius is 0; accepted: 1..252"),
        ("gine", "convolution", "gin", "model.convolution is 'gin'.*accepted: gine, gine+"),
        ("dgn_simple", "edge_size", 3, "model.edge_size is 3; accepted: 0 with simple layers"),
        (
            "dgn_simple",
            "aggregators",
            ["dir0-dx"],
            r"model.aggregators is \['dir0-dx'\]; accepted: at least one of mean",
        ),
        ("dgn_simple", "scalers", ["amplification"], "model.scalers is .* accepted: identity, or several of identity"),
        ("dgn_simple", "hidden_size", 3, "model.hidden_size is 3; accepted: 4 or more"),
        ("dgn_complex", "mean_log_degree", 0, "model.mean_log_degree is 0.0; accepted: a number over 0 with"),
        ("deepergcn", "mlp_layers", 0, "model.mlp_layers is 0; accepted: 1 or more"),
        ("deepergcn", "aggregation", "softmax_sg", "model.learn_temperature is True; accepted: false with"),
        ("phc_sum", "hidden_size", 8, "model.hidden_size is 8; accepted: multiples of model.components, which is 3"),
        ("phc_sum", "head_dropout", [], r"model.head_dropout is \[\]; accepted: 1 numbers? from 0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(name, key, value, message):
    with pytest.raises(InputError, match=message):
        settings_of(name, **{key: value})


def test_graphs_that_do_not_fit_are_refused():
    model, settings = build("dgn_simple")
    graph = batch(some_graphs(), schema(), settings.view)
    del graph.ndata["combinatorial_laplacian"]
    with pytest.raises(InputError, match=r'no ndata\["combinatorial_laplacian"\], which the model reads'):
        model(graph)
    model, settings = build("gine")
    graph = batch(some_graphs(), schema(), settings.view)
    graph.edata["feat"][4] = 6
    with pytest.raises(InputError, match=r'edata\["feat"\] is 6 at edge 4; accepted: 0..5'):
        model(graph)
    model, _ = build("gineplus")
    with pytest.raises(InputError, match=r'no edata\["spd"\]'):
        model(graph)
