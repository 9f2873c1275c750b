import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.errors import InputError
from grpe_dgl.transforms import AddVirtualNode
from grpe_dgl.views import GraphView


def expected(graph, *, self_loops, virtual_node):
    """The oracle: DGL's own transforms on one graph."""
    own = graph.num_edges()
    if self_loops:
        graph = dgl.add_self_loop(graph, fill_data=0)
        graph.edata["self_loop"] = torch.arange(graph.num_edges()) >= own
    return AddVirtualNode()(graph) if virtual_node else graph


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("virtual_node", [False, True])
def test_equals_dgl_batch_of_the_graphs(regression, self_loops, virtual_node):
    view = GraphView(self_loops=self_loops, virtual_node=virtual_node)
    data = grpe_dgl.data.load(regression, view=view)
    index = [4, 0, 17, 4, 22]
    batch = data.batch(index)
    singles = [expected(data.graph(i), self_loops=self_loops, virtual_node=virtual_node) for i in index]
    wanted = dgl.batch(singles)
    for ours, theirs in zip(batch.graph.edges(order="eid"), wanted.edges(order="eid"), strict=True):
        assert torch.equal(ours, theirs)
    assert batch.graph.idtype == wanted.idtype == torch.int64
    assert torch.equal(batch.graph.batch_num_nodes(), wanted.batch_num_nodes())
    assert torch.equal(batch.graph.batch_num_edges(), wanted.batch_num_edges())
    assert set(batch.graph.ndata) == set(wanted.ndata) and set(batch.graph.edata) == set(wanted.edata)
    for data_of in ("ndata", "edata"):
        for key, value in getattr(wanted, data_of).items():
            found = getattr(batch.graph, data_of)[key]
            assert found.dtype == value.dtype and torch.equal(found, value), (data_of, key)
    np.testing.assert_array_equal(batch.label, torch.stack([data["train"].dataset.batch([i]).label[0] for i in index]))


def test_node_labels(node_classes):
    data = grpe_dgl.data.load(node_classes, view=GraphView(virtual_node=True))
    batch = data.batch([3, 1])
    assert batch.label.tolist() == torch.cat([data.graph(i).ndata["label"] for i in (3, 1)]).tolist()
    assert batch.graph.num_nodes() == len(batch.label) + 2


def test_one_node_and_no_edges(tmp_path):
    graph = dgl.graph(([], []), num_nodes=1)
    graph.ndata["feat"] = torch.tensor([2])
    grpe_dgl.data.write(tmp_path / "one", [graph], [1.0], {"train": [0]}, task="regression")
    batch = grpe_dgl.data.load(tmp_path / "one", view=GraphView()).batch([0])
    assert (batch.graph.num_nodes(), batch.graph.num_edges()) == (1, 0)


def test_relations_are_of_pair_graphs_only(regression):
    with pytest.raises(InputError, match="open the dataset with a PairView"):
        _ = grpe_dgl.data.load(regression, view=GraphView()).relations
