"""The numbers of the authors' DeeperGCN, to 1e-9 in float64."""

import pytest

from grpe_dgl.models.deepergcn.model import DeeperGCN
from grpe_dgl.models.deepergcn.settings import DeeperGCNSettings
from tests.models.molecule_parity import atoms, bonds, capture, encoder_sizes
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


@pytest.mark.parametrize("name", ["molhiv_deepergcn", "molpcba_deepergcn_vn"])
def test_the_authors_numbers(name):
    fixture = load_fixture(name)
    kwargs, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, block="res+", conv="gen", conv_encode_edge=True, norm="batch", graph_pooling="mean")
    require_options(fixture, msg_norm=False, learn_p=False, learn_y=False)
    settings = DeeperGCNSettings(
        layers=kwargs["num_layers"],
        hidden_size=kwargs["hidden_channels"],
        dropout=kwargs["dropout"],
        aggregation=kwargs["gcn_aggr"],
        temperature=kwargs["t"],
        learn_temperature=kwargs["learn_t"],
        mlp_layers=kwargs["mlp_layers"],
        virtual_node=kwargs["add_virtual_node"],
    )
    nodes, edges = "atom_encoder.atom_embedding_list", "gcns.{}.edge_encoder.bond_embedding_list"
    schema = graph_schema(fixture, encoder_sizes(state, nodes), encoder_sizes(state, edges.format(0)))
    model = DeeperGCN.from_settings(settings, schema)
    names = {**atoms(state, nodes), **linear("head", "graph_pred_linear")}
    for i in range(settings.layers):
        ours, theirs = f"convolutions.{i}", f"gcns.{i}"
        names |= bonds(state, f"{ours}.edges", edges.format(i))
        for place in range(settings.mlp_layers):  # a linear map, a norm and ReLU each but the last
            names |= linear(f"{ours}.mlp.{3 * place}", f"{theirs}.mlp.{3 * place}")
            if place + 1 < settings.mlp_layers:
                names |= batch_norm(f"{ours}.mlp.{3 * place + 1}", f"{theirs}.mlp.{3 * place + 1}")
        if settings.learn_temperature:
            names |= {f"{ours}.temperature": same(f"{theirs}.t")}
        names |= batch_norm(f"norms.{i}", f"norms.{i}")
    if settings.virtual_node:
        names |= {"virtual_node": same("virtualnode_embedding.weight", (settings.hidden_size,))}
        for i in range(settings.layers - 1):
            for place, part in ((0, linear), (1, batch_norm), (3, linear), (4, batch_norm)):
                names |= part(f"virtual_updates.{i}.{place}", f"mlp_virtualnode_list.{i}.{place}")
    load_state(model, fixture, names)
    hidden = capture(model.convolutions)
    output = model(batch_of(fixture, schema, settings.view))
    compare(model, fixture, names, output, zip(hidden, fixture["hidden"], strict=True))
    assert settings.count_parameters(schema) == fixture["num_parameters"]
