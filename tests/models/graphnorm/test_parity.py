"""The numbers of the authors' GCN-GraphNorm, to 1e-9 in float64."""

from grpe_dgl.models.graphnorm.model import GraphNormGCN
from grpe_dgl.models.graphnorm.settings import GraphNormSettings
from tests.models.molecule_parity import atoms, bonds, capture, encoder_sizes
from tests.models.published import batch_of, compare, graph_schema, linear, load_fixture, load_state, require_options


def test_the_authors_numbers():
    fixture = load_fixture("molhiv_gcn_graphnorm")
    kwargs, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, learn_eps=False, graph_pooling_type="mean", norm_type="gn")
    settings = GraphNormSettings(
        layers=kwargs["num_layers"] - 1, hidden_size=kwargs["hidden_dim"], dropout=kwargs["final_dropout"]
    )
    schema = graph_schema(
        fixture,
        encoder_sizes(state, "atom_encoder.atom_embedding_list"),
        encoder_sizes(state, "bond_layers.0.bond_embedding_list"),
    )
    model = GraphNormGCN.from_settings(settings, schema)
    names = {**atoms(state, "atom_encoder.atom_embedding_list"), **linear("head.0", "linears_prediction")}
    for i in range(settings.layers):
        names |= bonds(state, f"layers.{i}.edges", f"bond_layers.{i}.bond_embedding_list")
        names |= linear(f"layers.{i}.linear", f"ginlayers.{i}.apply_func.mlp.linear")
        names |= linear(f"layers.{i}.norm", f"ginlayers.{i}.apply_func.norm")
    # eps is a buffer of the original that is always zero (learn_eps False), which ours does without
    zero = [name for name in state if name.endswith(".eps")]
    assert all(state[name] == 0 for name in zero)
    fixture["state"] = {name: tensor for name, tensor in state.items() if name not in zero}
    load_state(model, fixture, names)
    hidden = capture(model.layers)
    output = model(batch_of(fixture, schema, settings.view))
    compare(model, fixture, names, output, zip(hidden, fixture["hidden"], strict=True))
    assert settings.count_parameters(schema) == fixture["num_parameters"]
