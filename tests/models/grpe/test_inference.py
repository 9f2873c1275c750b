import itertools

import dgl
import pytest
import torch

from grpe_dgl.errors import InputError
from grpe_dgl.models.grpe import inference
from grpe_dgl.nn import GRPE
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from tests.random_graphs import make_graph

GRAPHS = [
    make_graph(1, []),
    make_graph(6, [(0, 1, 2), (3, 4, 1)]),
    make_graph(3, [(0, 1, 0), (1, 2, 0)]),
    make_graph(29, [(i, i + 1, i % 3) for i in range(28)]),
    make_graph(2, []),
]


def pair_graph(graphs=GRAPHS):
    return dgl.transforms.Compose([AddVirtualNode(), ToPairGraph(2, 3)])(dgl.batch(graphs))


def model_of(**arguments):
    options = {"max_distance": 2, "num_edge_types": 3, "node_vocabulary": [5], "num_outputs": 3}
    sizes = {"layers": 3, "hidden_size": 14, "ffn_size": 11, "num_heads": 2}
    torch.manual_seed(0)
    model = GRPE(**{**sizes, **options, **arguments}).eval()
    for parameter in model.parameters():  # norms and biases, too
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.fixture(params=[1, 7, 30, 10_000], ids="groups of {} nodes".format)
def group_size(request, monkeypatch):
    monkeypatch.setattr(inference, "NODES_AT_A_TIME", request.param)


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("tables, share", list(itertools.product([True, False], repeat=2)))
def test_equals_the_layers(tables, share, key_term, group_size):
    model = model_of(graph_value=tables, edge_attention=tables, share_encodings=share, key_term=key_term)
    pairs = pair_graph()
    expected = model(pairs).detach()  # with gradients: layer by layer
    prints = model.fingerprint(pairs, 2).detach()
    with torch.no_grad():
        assert inference.applies(model, pairs)
        torch.testing.assert_close(model(pairs), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model.fingerprint(pairs, 2), prints, rtol=1e-5, atol=1e-5)


def test_continuous_features_and_several_threads(group_size):
    graphs = [graph.clone() for graph in GRAPHS]
    for graph in graphs:
        graph.ndata["feat"] = torch.randn(graph.num_nodes(), 4)
    model = model_of(node_vocabulary=None, node_features=4, layers=1)
    pairs = pair_graph(graphs)
    expected = model(pairs).detach()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch.no_grad():
            torch.testing.assert_close(model(pairs), expected, rtol=1e-5, atol=1e-5)
    finally:
        torch.set_num_threads(threads)


@torch.no_grad()
def test_applies_only_where_it_computes_the_same():
    model, pairs = model_of(), pair_graph()
    assert inference.applies(model, pairs)
    assert not inference.applies(model_of(level="node"), pairs)
    assert not inference.applies(model_of(backend="dgl"), pairs)
    assert not inference.applies(model_of().double(), pairs)
    assert not inference.applies(model_of().train(), pairs)
    with torch.enable_grad():
        assert not inference.applies(model, pairs)
    moved = pair_graph()
    moved.ndata["virtual"] = moved.ndata["virtual"].roll(1)
    assert not inference.applies(model, moved)
    incomplete = dgl.remove_edges(pairs, torch.tensor([3]))
    assert not inference.applies(model, incomplete)


@torch.no_grad()
def test_refuses_relations_outside_the_tables():
    pairs = pair_graph()
    pairs.edata["relation"] = pairs.edata["relation"] + 100
    with pytest.raises(InputError, match='edata\\["relation"\\] is .* accepted: 0..'):
        model_of()(pairs)
