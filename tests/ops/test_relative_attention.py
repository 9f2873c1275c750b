import itertools

import dgl
import pytest
import torch

from grpe_dgl.errors import InputError
from grpe_dgl.nn import RelationEncodings
from grpe_dgl.ops import relative_attention
from tests.naive import naive_attention
from tests.random_graphs import every_relation

HEADS, HEAD_SIZE, RELATIONS = 2, 5, 8


def inputs(num_nodes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(num_nodes, HEADS, HEAD_SIZE, dtype=torch.float64, generator=generator) for _ in range(3)]


def tables(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(RELATIONS, HEADS, HEAD_SIZE, dtype=torch.float64, generator=generator) for _ in range(3)]


def some_pairs():
    """The pair graph of `every_relation` with a third of its edges left out, those of node 3 all of them."""
    pairs = every_relation()
    query = pairs.edges(order="eid")[1]
    kept = dgl.remove_edges(pairs, ((torch.arange(pairs.num_edges()) % 3 == 1) | (query == 3)).nonzero().flatten())
    assert (kept.in_degrees() == 0).sum() == 1
    return kept


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("topology, edge, value", list(itertools.product([True, False], repeat=3)))
@pytest.mark.parametrize("make_pairs", [every_relation, some_pairs])
def test_equals_the_naive_loop(topology, edge, value, key_term, make_pairs):
    pairs = make_pairs()
    encodings = RelationEncodings(
        2, 3, HEADS * HEAD_SIZE, HEADS, topology_attention=topology, edge_attention=edge, graph_value=value
    ).double()
    q, k, v = inputs(pairs.num_nodes())
    z = relative_attention(pairs, q, k, v, *encodings(), key_term=key_term)
    naive = torch.tensor(naive_attention(pairs, q, k, v, encodings, key_term=key_term), dtype=torch.float64)
    torch.testing.assert_close(z, naive, rtol=0, atol=1e-12)


@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("make_pairs", [every_relation, some_pairs])
def test_gradients(key_term, make_pairs):
    pairs = make_pairs()
    arguments = [x.requires_grad_() for x in inputs(pairs.num_nodes()) + tables()]
    assert torch.autograd.gradcheck(lambda *x: relative_attention(pairs, *x, key_term=key_term), arguments)


def test_float32_stays_float32():
    pairs = every_relation()
    q, k, v = (x.float() for x in inputs(pairs.num_nodes()))
    z = relative_attention(pairs, q, k, v, *(table.float() for table in tables()))
    assert z.dtype == torch.float32
    exact = relative_attention(pairs, *inputs(pairs.num_nodes()), *tables())
    torch.testing.assert_close(z.double(), exact, rtol=1e-4, atol=1e-5)


def test_dropout_keeps_the_mean():
    pairs = every_relation()
    arguments = inputs(pairs.num_nodes()) + tables()
    torch.manual_seed(0)
    runs = torch.stack([relative_attention(pairs, *arguments, dropout=0.3) for _ in range(500)])
    standard_error = runs.std(0) / len(runs) ** 0.5
    assert ((runs.mean(0) - relative_attention(pairs, *arguments)).abs() < 5 * standard_error + 1e-9).all()
    assert (runs.std(0) > 0).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"key_term": "both"}, "key_term is 'both'; accepted: neighbour, self"),
        ({"dropout": 1.0}, "dropout is 1.0; accepted: at least 0 and less than 1"),
        ({"backend": "cuda"}, "backend is 'cuda'; accepted: .*dgl"),
    ],
)
def test_options_that_do_not_exist(options, message):
    pairs = every_relation()
    with pytest.raises(InputError, match=message):
        relative_attention(pairs, *inputs(pairs.num_nodes()), *tables(), **options)


def test_shapes_that_do_not_fit():
    pairs = every_relation()
    q, k, v = inputs(pairs.num_nodes())
    with pytest.raises(InputError, match=r"\(16, 2, 5\), \(15, 2, 5\), \(16, 2, 5\); accepted: \(N, H, D\) each"):
        relative_attention(pairs, q, k[1:], v, *tables())
    with pytest.raises(InputError, match=r"tables have shapes \(8, 2, 4\), \(8, 2, 5\); accepted: \(R, 2, 5\) each"):
        query, key, value = tables()
        relative_attention(pairs, q, k, v, query, key[..., 1:], value)


def test_relation_outside_the_tables():
    pairs = every_relation()
    pairs.edata["relation"][5] = RELATIONS
    with pytest.raises(InputError, match=r'edata\["relation"\] is 8 at pair 5; accepted: 0\.\.7'):
        relative_attention(pairs, *inputs(pairs.num_nodes()), *tables())


def test_a_graph_that_is_no_pair_graph():
    graph = dgl.graph(([0], [1]))
    with pytest.raises(InputError, match='no edata."relation".; make it with grpe_dgl.transforms.ToPairGraph'):
        relative_attention(graph, *inputs(2), *tables())
