import dgl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grpe_dgl.errors import InputError
from grpe_dgl.transforms import AddVirtualNode
from tests.random_graphs import graphs, make_graph


def test_by_hand():
    graph = make_graph(3, [(2, 0, 1), (1, 1, 2)])
    graph.ndata["x"] = torch.tensor([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]])
    result = AddVirtualNode()(graph)
    assert [end.tolist() for end in result.edges(order="eid")] == [
        [3, 2, 0, 0, 0, 1, 2, 3],
        [1, 2, 1, 2, 3, 0, 0, 0],
    ]
    assert result.edata["feat"].tolist() == [1, 2, 0, 0, 0, 0, 0, 0]
    assert result.edata["virtual"].tolist() == [False, False] + [True] * 6
    assert result.ndata["virtual"].tolist() == [True, False, False, False]
    assert result.ndata["x"].tolist() == [[0, 0], [1.5, 2.5], [3.5, 4.5], [5.5, 6.5]]


def assert_same_graph(a, b):
    assert a.idtype == b.idtype
    assert a.batch_num_nodes().tolist() == b.batch_num_nodes().tolist()
    assert a.batch_num_edges().tolist() == b.batch_num_edges().tolist()
    for x, y in zip(a.edges(order="eid"), b.edges(order="eid"), strict=True):
        assert torch.equal(x, y)
    for x, y in ((a.ndata, b.ndata), (a.edata, b.edata)):
        assert set(x) == set(y)
        assert all(torch.equal(x[key], y[key]) and x[key].dtype == y[key].dtype for key in x)


@settings(deadline=None, max_examples=50)
@given(batch=st.lists(graphs(), min_size=1, max_size=4), idtype=st.sampled_from([torch.int32, torch.int64]))
def test_a_batch_gets_one_per_graph(batch, idtype):
    batch = [graph.astype(idtype) for graph in batch]
    alone = dgl.batch([AddVirtualNode()(graph) for graph in batch])
    assert_same_graph(AddVirtualNode()(dgl.batch(batch)), alone)


def test_input_is_left_alone():
    graph = make_graph(3, [(2, 0, 1), (1, 1, 2)])
    before = graph.clone()
    result = AddVirtualNode()(graph)
    result.ndata["feat"] += 1
    assert_same_graph(graph, before)


def test_graph_without_nodes():
    result = AddVirtualNode()(dgl.graph(([], []), num_nodes=0))
    assert (result.num_nodes(), result.num_edges()) == (1, 0)
    assert result.ndata["virtual"].tolist() == [True]


def test_a_second_virtual_node_keeps_the_first_ones_mark():
    result = AddVirtualNode()(AddVirtualNode()(make_graph(2, [(0, 1, 0)])))
    assert result.ndata["virtual"].tolist() == [True, True, False, False]
    assert result.edata["virtual"].tolist() == [False] + [True] * 10


def test_heterograph():
    graph = dgl.heterograph({("user", "likes", "film"): ([0], [0])})
    with pytest.raises(InputError, match="AddVirtualNode got a heterograph with node types .*'film', 'user'"):
        AddVirtualNode()(graph)


def test_not_a_graph():
    with pytest.raises(InputError, match="AddVirtualNode got list; accepted: a DGLGraph"):
        AddVirtualNode()([])
