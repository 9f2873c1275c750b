import dgl
import pytest
import torch
from dgl.transforms import Compose
from hypothesis import given, settings
from hypothesis import strategies as st

from grpe_dgl.errors import InputError
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from tests.random_graphs import every_relation, graphs, make_graph
from tests.transforms.test_shortest_paths import expected
from tests.transforms.test_virtual_node import assert_same_graph


def codes(pairs, name):
    n = pairs.num_nodes()
    return pairs.edata[name].view(n, n).tolist()


def test_by_hand_with_every_kind_of_pair():
    # 0 - 1 - 2 - 3 joined by types 2, 1 (a duplicate says 0), 1; 4 alone, with a self-loop
    graph = make_graph(5, [(0, 1, 2), (2, 1, 1), (2, 1, 0), (2, 3, 1), (4, 4, 2)])
    pairs = Compose([AddVirtualNode(), ToPairGraph(max_distance=2, num_edge_types=3)])(graph)
    far, no, vn = 3, 4, 5
    assert codes(pairs, "spd") == [
        [0, vn, vn, vn, vn, vn],
        [vn, 0, 1, 2, far, no],
        [vn, 1, 0, 1, 2, no],
        [vn, 2, 1, 0, 1, no],
        [vn, far, 2, 1, 0, no],
        [vn, no, no, no, no, 0],
    ]
    own, none, hub = 3, 4, 5
    assert codes(pairs, "edge") == [
        [own, hub, hub, hub, hub, hub],
        [hub, own, 2, none, none, none],
        [hub, 2, own, 1, none, none],
        [hub, none, 1, own, 1, none],
        [hub, none, none, 1, own, none],
        [hub, none, none, none, none, own],
    ]
    #                        types 0..2, then 3 = self, 4 = virtual, 5 = distance 2, 6 = far, 7 = unreachable
    assert codes(pairs, "relation") == [
        [3, 4, 4, 4, 4, 4],
        [4, 3, 2, 5, 6, 7],
        [4, 2, 3, 1, 5, 7],
        [4, 5, 1, 3, 1, 7],
        [4, 6, 5, 1, 3, 7],
        [4, 7, 7, 7, 7, 3],
    ]


def test_a_directed_edge_types_the_pair_of_its_target():
    graph = make_graph(3, [(0, 1, 1), (1, 2, 0)])
    pairs = ToPairGraph(max_distance=5, num_edge_types=2, undirected=False)(graph)
    unreachable, own, none = 7, 2, 3
    assert codes(pairs, "spd") == [[0, unreachable, unreachable], [1, 0, unreachable], [2, 1, 0]]
    assert codes(pairs, "edge") == [[own, none, none], [1, own, none], [none, 0, own]]


def test_opposite_edges_keep_their_own_types():
    graph = make_graph(2, [(0, 1, 1), (1, 0, 2), (0, 1, 0)])
    assert codes(ToPairGraph(3, 3)(graph), "edge") == [[3, 2], [1, 3]]


def test_without_feat_every_edge_is_type_0():
    pairs = ToPairGraph(3, 1)(dgl.graph(([0], [1])))
    assert codes(pairs, "relation") == [[1, 0], [0, 1]]


def test_structure_is_query_by_query_with_keys_ascending():
    pairs = ToPairGraph(3, 3)(dgl.batch([make_graph(2, []), make_graph(3, [])]))
    key, query = pairs.edges(order="eid")
    assert key.tolist() == [0, 1, 0, 1] + [2, 3, 4] * 3
    assert query.tolist() == [0, 0, 1, 1] + [2] * 3 + [3] * 3 + [4] * 3
    assert pairs.batch_num_edges().tolist() == [4, 9]


@settings(deadline=None, max_examples=60)
@given(graph=graphs(), undirected=st.booleans(), max_distance=st.integers(1, 4), virtual=st.booleans())
def test_distances_do_not_know_the_virtual_node(graph, undirected, max_distance, virtual):
    pairs = ToPairGraph(max_distance, 3, undirected)(AddVirtualNode()(graph) if virtual else graph)
    truth = torch.as_tensor(expected(graph, undirected=undirected, limit=max_distance))
    truth[truth == 255] = max_distance + 2
    found = torch.tensor(codes(pairs, "spd"))
    assert torch.equal(found[virtual:, virtual:], truth)


@settings(deadline=None, max_examples=60)
@given(batch=st.lists(graphs(), min_size=1, max_size=4), undirected=st.booleans(), virtual=st.booleans())
def test_a_batch_equals_the_batch_of_its_pair_graphs(batch, undirected, virtual):
    steps = ([AddVirtualNode()] if virtual else []) + [ToPairGraph(2, 3, undirected)]
    transform = Compose(steps)
    assert_same_graph(transform(dgl.batch(batch)), dgl.batch([transform(graph) for graph in batch]))


@settings(deadline=None, max_examples=40)
@given(graph=graphs(), data=st.data())
def test_renumbering_nodes_renumbers_pairs(graph, data):
    order = torch.tensor(data.draw(st.permutations(range(graph.num_nodes()))))  # new number of each node
    src, dst = graph.edges(order="eid")
    renumbered = dgl.graph((order[src], order[dst]), num_nodes=graph.num_nodes())
    renumbered.edata["feat"] = graph.edata["feat"]
    before = torch.tensor(codes(ToPairGraph(2, 3)(graph), "relation"))
    after = torch.tensor(codes(ToPairGraph(2, 3)(renumbered), "relation"))
    assert torch.equal(after[order][:, order], before)


def test_input_is_left_alone_and_later_changes_do_not_show():
    graph = make_graph(3, [(0, 1, 1), (1, 2, 0)])
    before = graph.clone()
    pairs = ToPairGraph(3, 3)(graph)
    assert_same_graph(graph, before)
    relation, feat = pairs.edata["relation"].clone(), pairs.ndata["feat"].clone()
    graph.ndata["feat"] += 1
    graph.edata["feat"].zero_()
    assert torch.equal(pairs.edata["relation"], relation) and torch.equal(pairs.ndata["feat"], feat)


def test_every_relation_is_really_every_relation():
    assert every_relation().edata["relation"].unique().tolist() == list(range(3 + 2 + 3))


@pytest.mark.parametrize("idtype", [torch.int32, torch.int64])
def test_index_type_is_kept_and_codes_are_int32(idtype):
    pairs = ToPairGraph(3, 3)(make_graph(3, [(0, 1, 1)]).astype(idtype))
    assert pairs.idtype == idtype
    assert {pairs.edata[name].dtype for name in ("spd", "edge", "relation")} == {torch.int32}


def test_feat_may_have_a_column():
    graph = make_graph(2, [(0, 1, 2)])
    graph.edata["feat"] = graph.edata["feat"].view(-1, 1).to(torch.uint8)
    assert codes(ToPairGraph(3, 3)(graph), "edge") == [[3, 2], [2, 3]]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_edge_type_outside_its_range(wrong):
    with pytest.raises(InputError, match=rf'edata\["feat"\] is {wrong} at edge 1; accepted: 0\.\.2'):
        ToPairGraph(3, 3)(make_graph(2, [(0, 1, 0), (1, 0, wrong)]))


def test_feat_that_is_not_an_integer():
    graph = make_graph(2, [(0, 1, 0)])
    graph.edata["feat"] = torch.tensor([0.5])
    with pytest.raises(InputError, match="dtype torch.float32; accepted: an integer"):
        ToPairGraph(3, 3)(graph)


def test_feat_with_several_columns():
    graph = make_graph(2, [(0, 1, 0)])
    graph.edata["feat"] = torch.zeros(1, 3, dtype=torch.int64)
    with pytest.raises(InputError, match=r"shape \(1, 3\); accepted: \(edges,\) or \(edges, 1\)"):
        ToPairGraph(3, 3)(graph)


def test_heterograph():
    with pytest.raises(InputError, match="ToPairGraph got a heterograph"):
        ToPairGraph(3, 3)(dgl.heterograph({("user", "likes", "film"): ([0], [0])}))


def test_empty_batch():
    empty = dgl.graph(([], []), num_nodes=0)
    empty.set_batch_num_nodes(torch.zeros(0, dtype=torch.int64))
    empty.set_batch_num_edges(torch.zeros(0, dtype=torch.int64))
    with pytest.raises(InputError, match="ToPairGraph got an empty batch; accepted: at least one graph"):
        ToPairGraph(3, 3)(empty)
