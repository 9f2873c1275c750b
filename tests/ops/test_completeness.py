import dgl
import pytest
import torch

from grpe_dgl.errors import InputError
from grpe_dgl.ops.completeness import is_complete, relations_in_order
from grpe_dgl.transforms.pair_structure import complete_pairs


def pair_graph(sizes, src, dst, relation=None, idtype=torch.int64):
    pairs = dgl.graph((torch.tensor(src), torch.tensor(dst)), num_nodes=sum(sizes), idtype=idtype)
    pairs.set_batch_num_nodes(torch.tensor(sizes, dtype=idtype))
    edges = torch.bincount(torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))[torch.tensor(dst)])
    pairs.set_batch_num_edges(edges.to(idtype))
    pairs.edata["relation"] = torch.arange(len(src)) if relation is None else torch.tensor(relation)
    return pairs


@pytest.mark.parametrize("idtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("sizes", [[3, 1, 2], [1], []])
def test_relations_of_pairs_in_order_are_taken_as_they_are(sizes, idtype):
    pairs = complete_pairs(torch.tensor(sizes, dtype=torch.int64), idtype=idtype)
    pairs.edata["relation"] = torch.arange(pairs.num_edges(), dtype=torch.int32)
    assert is_complete(pairs)
    assert relations_in_order(pairs, "fused") is pairs.edata["relation"]


@pytest.mark.parametrize("idtype", [torch.int32, torch.int64])
def test_relations_of_pairs_in_any_order_are_put_in_order(idtype):
    # Graphs of 2 and 1 nodes; pair (i, j) is the edge j -> i.
    src, dst = [1, 0, 0, 1, 2], [1, 1, 0, 0, 2]
    pairs = pair_graph([2, 1], src, dst, [11, 10, 0, 1, 22], idtype)
    assert is_complete(pairs)
    assert relations_in_order(pairs, "dense").tolist() == [0, 1, 10, 11, 22]


@pytest.mark.parametrize(
    "src, dst",
    [
        ([0, 1, 0, 2, 3, 2, 3], [0, 0, 1, 2, 2, 3, 3]),  # the pair (1, 1) is missing
        ([0, 0, 0, 1, 2, 3, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3]),  # (0, 1) is missing, (0, 0) occurs twice
        ([0, 2, 0, 1, 2, 3, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3]),  # a key of another graph
        ([2, 3, 0, 1, 0, 1, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3]),  # all keys of two queries of the other graph
        ([0, 1, 0, 2, 3, 2, 3, 1], [0, 0, 0, 2, 2, 3, 3, 1]),  # a query with three edges, another with one
    ],
)
def test_pairs_that_are_missing_twice_there_or_between_graphs(src, dst):
    pairs = pair_graph([2, 2], src, dst)
    assert not is_complete(pairs)
    with pytest.raises(InputError, match='not complete; backend "dense" needs every pair'):
        relations_in_order(pairs, "dense")


def test_a_batch_that_is_divided_otherwise_is_not_complete():
    pairs = complete_pairs(torch.tensor([2, 2]))
    pairs.edata["relation"] = torch.zeros(8, dtype=torch.int32)
    assert is_complete(pairs)
    pairs.set_batch_num_nodes(torch.tensor([4]))
    pairs.set_batch_num_edges(torch.tensor([8]))
    assert not is_complete(pairs)
