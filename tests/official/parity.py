"""The authors' numbers, which stand beside the project on the machines that develop it."""

from pathlib import Path

import dgl
import pytest
import torch

from grpe_dgl.data.molecules.columns import bond_types
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "parity"


def load_parity(name):
    file = FOLDER / f"official_{name}.pt"
    if not file.exists():
        pytest.skip("the authors' numbers are not beside the project")
    return torch.load(file, weights_only=True)


def graphs_of(name, inputs, *, feat=None):
    """Return the graphs of a parity file with the features and edge types of our data."""
    graphs = []
    for b, padding in enumerate(inputs["mask"]):
        n = int((~padding).sum())
        assert not padding[:n].any()
        codes = inputs["edge_attr"][b, :n, :n]
        query, key = (codes >= 0).nonzero(as_tuple=True)
        graph = dgl.graph((key, query), num_nodes=n)
        if name == "zinc":
            graph.ndata["feat"] = inputs["x"][b, :n] - 1  # their row of type x is x + 1
            graph.edata["feat"] = codes[query, key]
        else:
            graph.ndata["feat"] = inputs["atom"][b, :n]
            graph.edata["feat"] = torch.from_numpy(bond_types(inputs["bond"][b, query, key].numpy()))
        if feat is not None:
            graph.ndata["feat"] = feat[b, :n]
        graphs.append(graph)
    return graphs


def pairs_of(graphs, model_max_distance, num_edge_types):
    to_pairs = dgl.transforms.Compose(
        [AddVirtualNode(), ToPairGraph(max_distance=model_max_distance, num_edge_types=num_edge_types)]
    )
    return to_pairs(dgl.batch(graphs))
