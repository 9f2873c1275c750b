"""The numbers of the authors' GINE+ and GINE, to 1e-9 in float64."""

import pytest

from grpe_dgl.models.gine.model import GINE
from grpe_dgl.models.gine.settings import GINESettings
from tests.models.molecule_parity import atoms, bonds, encoder_sizes
from tests.models.published import batch_norm, batch_of, compare, graph_schema, linear, load_fixture, load_state, same


def mlp(ours, theirs):
    return {
        **linear(f"{ours}.0", f"{theirs}.main.0"),
        **batch_norm(f"{ours}.1", f"{theirs}.main.1"),
        **linear(f"{ours}.3", f"{theirs}.main.3"),
    }


@pytest.mark.parametrize("name", ["molpcba_gineplus", "molpcba_gine_vn"])
def test_the_authors_numbers(name):
    fixture = load_fixture(name)
    kwargs, state = fixture["kwargs"], fixture["state"]
    settings = GINESettings(
        convolution={"gin": "gine", "gin+": "gine+"}[kwargs["conv_type"]],
        layers=kwargs["layers"],
        hidden_size=kwargs["hidden"],
        radius=kwargs["k"],
        dropout=kwargs["dropout"],
        virtual_node=kwargs["virtual_node"],
    )
    nodes, edges = "main.0.atom_embedding.atom_embedding_list", "main.{}.edge_embed.bond_embedding_list"
    schema = graph_schema(fixture, encoder_sizes(state, nodes), encoder_sizes(state, edges.format(1)))
    model = GINE.from_settings(settings, schema)
    names = {**atoms(state, nodes), **linear("head", "aggregate.1")}
    if settings.virtual_node:
        names |= {"virtual_node": same("v0", (settings.hidden_size,))}
    plus = settings.convolution == "gine+"
    for i in range(settings.layers):
        theirs = f"main.{i + 1}"
        names |= bonds(state, f"edges.{i}", edges.format(i + 1))
        names |= {f"convolutions.{i}.{'weight' if plus else 'eps'}": same(f"{theirs}.conv.eps")}
        names |= mlp(f"convolutions.{i}.mlp", f"{theirs}.conv.nn")
        names |= batch_norm(f"norms.{i}", f"{theirs}.norm")
        if settings.virtual_node and i + 1 < settings.layers:
            names |= mlp(f"virtual_updates.{i}.0", f"{theirs}.vn_aggregator.mlp.0")
            names |= batch_norm(f"virtual_updates.{i}.1", f"{theirs}.vn_aggregator.mlp.1")
    load_state(model, fixture, names)
    graph = batch_of(fixture, schema, settings.view)
    compare(model, fixture, names, model(graph), zip(model.encode(graph), fixture["hidden"], strict=True))
    assert settings.count_parameters(schema) == fixture["num_parameters"]
