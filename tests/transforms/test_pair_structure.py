import warnings

import dgl
import pytest
import torch
from dgl.dataloading import GraphDataLoader

import grpe_dgl.data
from grpe_dgl.errors import InputError
from grpe_dgl.nn import GRPE
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph, pair_structure
from grpe_dgl.transforms.pair_structure import require_room


def pair_graph(max_distance, n=4, num_edge_types=2):
    graph = dgl.graph((torch.arange(n - 1), torch.arange(1, n)), num_nodes=n)
    graph.ndata["feat"] = torch.arange(n).unsqueeze(1) % 3
    to_pairs = ToPairGraph(max_distance=max_distance, num_edge_types=num_edge_types)
    return dgl.transforms.Compose([AddVirtualNode(), to_pairs])(graph)


def model(max_distance, num_edge_types=2):
    torch.manual_seed(0)
    sizes = {"layers": 1, "hidden_size": 8, "ffn_size": 8, "num_heads": 2, "num_outputs": 1, "node_vocabulary": [3]}
    return GRPE(max_distance=max_distance, num_edge_types=num_edge_types, **sizes).eval()


CARRIED = {
    "as made": lambda graphs: graphs[0],
    "dgl.batch": dgl.batch,
    "GraphDataLoader": lambda graphs: next(iter(GraphDataLoader(graphs, batch_size=2))),
    "dgl.unbatch": lambda graphs: dgl.unbatch(dgl.batch(graphs))[1],
    "dgl.slice_batch": lambda graphs: dgl.slice_batch(dgl.batch(graphs), 1),
    "a copy": lambda graphs: graphs[0].clone(),
}


@pytest.mark.parametrize("carry", CARRIED.values(), ids=CARRIED)
def test_codes_of_another_model_are_refused(carry):
    pairs = carry([pair_graph(3), pair_graph(3, n=5)])
    message = "made with max_distance 3 and num_edge_types 2, the model with 5 and 2; accepted: the same"
    with pytest.raises(InputError, match=message):
        model(5)(pairs)
    with pytest.raises(InputError, match="the model with 3 and 4"):
        model(3, num_edge_types=4)(pairs)
    assert torch.isfinite(model(3)(pairs)).all()


def test_one_graph_of_other_codes_in_a_batch_is_refused():
    with pytest.raises(InputError, match="made with max_distance 5"):
        model(3)(dgl.batch([pair_graph(3), pair_graph(5)]))


def test_batches_of_a_dataset_carry_their_codes(tmp_path):
    graphs = [dgl.graph(([0], [1])) for _ in range(3)]
    for graph in graphs:
        graph.ndata["feat"] = torch.zeros(2, 1, dtype=torch.int64)
    splits = {"train": [0, 1, 2]}
    options = {"task": "regression", "node_vocabulary": (3,), "num_edge_types": 2}
    grpe_dgl.data.write(tmp_path / "x", graphs, [1.0, 2.0, 3.0], splits, **options)
    pairs = grpe_dgl.data.load(tmp_path / "x", max_distance=3).batch([0, 1]).graph
    for batch in (pairs, dgl.batch(dgl.unbatch(pairs))):
        with pytest.raises(InputError, match="made with max_distance 3"):
            model(5)(batch)
        model(3)(batch)


def test_a_large_pair_graph_is_announced_before_it_is_built(monkeypatch):
    monkeypatch.setattr(pair_structure, "_memory", lambda: 100 << 30)
    with pytest.warns(UserWarning, match=r"400,000,000 pairs \(largest graph: 20,000 nodes\) takes 13.2 GB"):
        require_room(torch.tensor([20_000]), codes=3, index_bytes=8)
    monkeypatch.setattr(pair_structure, "_memory", lambda: 8 << 30)
    with pytest.raises(InputError, match="takes 13.2 GB, and this machine has 8.6 GB; accepted: smaller graphs"):
        require_room(torch.tensor([20_000]), codes=3, index_bytes=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_room(torch.tensor([5000]), codes=3, index_bytes=8)


def test_the_transform_refuses_what_does_not_fit_without_allocating(monkeypatch):
    monkeypatch.setattr(pair_structure, "_memory", lambda: 8 << 30)
    graph = dgl.graph(([0], [1]), num_nodes=200_000)
    with pytest.raises(InputError, match="the pair graph of 40,000,000,000 pairs"):
        ToPairGraph(max_distance=3, num_edge_types=1)(graph)
