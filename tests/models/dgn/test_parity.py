"""The numbers of the authors' DGN, to 1e-9 in float64."""

import pytest
import torch

from grpe_dgl.models.dgn.model import DGN
from grpe_dgl.models.dgn.settings import DGNSettings
from grpe_dgl.views import GraphView
from tests.models.molecule_parity import atoms, bonds, encoder_sizes
from tests.models.published import (
    batch_norm,
    batch_of,
    compare,
    graph_schema,
    linear,
    load_fixture,
    load_state,
    require_options,
    same,
)


@pytest.mark.parametrize("name", ["zinc_dgn", "molhiv_dgn", "molpcba_dgn"])
def test_the_authors_numbers(name):
    fixture = load_fixture(name)
    kwargs, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, out_dim=kwargs["hidden_dim"], residual=True, batch_norm=True)
    require_options(fixture, pretrans_layers=1, posttrans_layers=1, pos_enc_dim=0)
    settings = DGNSettings(
        layer=kwargs["type_net"],
        layers=kwargs["L"],
        hidden_size=kwargs["hidden_dim"],
        edge_size=kwargs["edge_dim"] if kwargs["edge_feat"] else 0,
        aggregators=tuple(kwargs["aggregators"].split()),
        scalers=tuple(kwargs["scalers"].split()),
        mean_log_degree=kwargs["avg_d"]["log"] if " " in kwargs["scalers"] else None,
        graph_norm=kwargs["graph_norm"],
        readout=kwargs["readout"],
        dropout=kwargs["dropout"],
    )
    nodes, edges = "embedding_h.atom_embedding_list", "embedding_e.bond_embedding_list"
    if "embedding_h.weight" in state:  # ZINC
        schema = graph_schema(fixture, (len(state["embedding_h.weight"]),), (kwargs["num_bond_type"],))
        names = {"nodes.embedding.weight": same("embedding_h.weight")}
        if settings.edge_size:
            names |= {"edges.embedding.weight": same("embedding_e.weight")}
    else:
        # Without edge features there is no table whose size could be read: one value more than the largest.
        largest = torch.cat([graph["edge_feat"] for graph in fixture["graphs"]]).amax(0)
        sizes = encoder_sizes(state, edges) if settings.edge_size else tuple((largest + 1).tolist())
        schema = graph_schema(fixture, encoder_sizes(state, nodes), sizes)
        names = {**atoms(state, nodes), **(bonds(state, "edges", edges) if settings.edge_size else {})}
    model = DGN.from_settings(settings, schema)
    for i in range(settings.layers):
        if settings.layer == "complex":
            names |= linear(f"layers.{i}.message", f"layers.{i}.pretrans.fully_connected.0.linear")
        names |= linear(f"layers.{i}.update", f"layers.{i}.posttrans.fully_connected.0.linear")
        names |= batch_norm(f"layers.{i}.norm", f"layers.{i}.batchnorm_h")
    for i in range(3):
        names |= linear(f"head.{2 * i}", f"MLP_layer.FC_layers.{i}")
    load_state(model, fixture, names)
    graph = batch_of(fixture, schema, GraphView())
    eigenvectors = torch.cat([graph["eig"] for graph in fixture["graphs"]])[:, 1:]  # column 0 is the constant one
    graph.ndata["combinatorial_laplacian"] = eigenvectors
    compare(model, fixture, names, model(graph), zip(model.encode(graph), fixture["hidden"], strict=True))
    assert settings.count_parameters(schema) == fixture["num_parameters"]
