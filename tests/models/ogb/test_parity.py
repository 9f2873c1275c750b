import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.ogb.settings import OGBGCNSettings, OGBGINSettings
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


@pytest.mark.parametrize("name", ["ogb_gin", "ogb_gcn", "ogb_gin_vn", "ogb_gcn_vn"])
def test_equals_the_published_code(name):
    fixture = load_fixture(name)
    kwargs, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, JK="last", residual=False)
    family = {"gin": OGBGINSettings, "gcn": OGBGCNSettings}[kwargs["gnn_type"]]
    settings = family(
        layers=kwargs["num_layer"],
        hidden_size=kwargs["emb_dim"],
        dropout=kwargs["drop_ratio"],
        readout=kwargs["graph_pooling"],
        virtual_node=kwargs["virtual_node"],
    )
    atom, bond = "gnn_node.atom_encoder.atom_embedding_list", "bond_encoder.bond_embedding_list"
    schema = graph_schema(
        fixture, encoder_sizes(state, atom), encoder_sizes(state, f"gnn_node.convs.0.{bond}")
    )  # fmt: skip
    names = atoms(state, atom) | linear("head", "graph_pred_linear")
    for layer in range(settings.layers):
        ours, theirs = f"convolutions.{layer}", f"gnn_node.convs.{layer}"
        names |= bonds(state, f"{ours}.edges", f"{theirs}.{bond}")
        names |= batch_norm(f"norms.{layer}", f"gnn_node.batch_norms.{layer}")
        if settings.CONVOLUTION == "gcn":
            names |= linear(f"{ours}.map", f"{theirs}.linear")
            names[f"{ours}.root"] = same(f"{theirs}.root_emb.weight", -1)
        else:
            names[f"{ours}.eps"] = same(f"{theirs}.eps")
            names |= perceptron(f"{ours}.perceptron", f"{theirs}.mlp")
    if settings.virtual_node:
        names["virtual_node"] = same("gnn_node.virtualnode_embedding.weight", -1)
        for layer in range(settings.layers - 1):
            ours, theirs = f"virtual_updates.{layer}", f"gnn_node.mlp_virtualnode_list.{layer}"
            names |= perceptron(ours, theirs) | batch_norm(f"{ours}.4", f"{theirs}.4")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = batch_of(fixture, schema, settings.view)
    hidden = capture(model.norms)
    output = model(graph)
    compare(model, fixture, names, output, zip(hidden, fixture["hidden"], strict=True))


def perceptron(ours, theirs):
    """Return the map of Linear, BN, ReLU, Linear."""
    return (
        linear(f"{ours}.0", f"{theirs}.0") | batch_norm(f"{ours}.1", f"{theirs}.1") | linear(f"{ours}.3", f"{theirs}.3")
    )
