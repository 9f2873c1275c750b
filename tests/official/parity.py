"""Numbers to compare with: the authors' own, where they are beside the project, and those of the reference."""

from pathlib import Path

import dgl
import pytest
import torch

from grpe_dgl.data.molecules.columns import bond_types
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from tests.official.random_state import random_inputs, random_molecules, random_state
from tests.official.reference import reference_parity

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "parity"


def load_parity(name, source="authors"):
    """Return a parity case of the layout `name`, zinc or mol.

    `source` is ``"authors"`` for their own numbers, which only some machines have, or ``"reference"`` for those of
    `tests.official.reference` with other random weights, which every machine can compute.
    """
    if source == "reference":
        sizes = {"node_rows": 25, "codes": 4} if name == "zinc" else {"node_rows": 1 + 512 * 9, "codes": 30}
        state = random_state(**sizes, layers=3, hidden=24, ffn=20, max_hop=5, outputs=1 if name == "zinc" else 2)
        inputs = random_inputs(codes=4, node_rows=25) if name == "zinc" else random_molecules(codes=30)
        return reference_parity(state, inputs, num_heads=4)
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
