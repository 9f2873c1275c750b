"""Outputs, hidden states and gradients of Graphormer's released code, and its parameter counts."""

import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.models.graphormer.model import Graphormer
from grpe_dgl.models.graphormer.settings import GraphormerSettings
from tests.models.published import (
    batch_of,
    compare,
    graph_schema,
    joined,
    linear,
    load_fixture,
    load_state,
    require_options,
    same,
)


def names(layers, heads):
    found = {
        "nodes.embedding.weight": same("atom_encoder.weight"),
        "in_degree.weight": same("in_degree_encoder.weight"),
        "out_degree.weight": same("out_degree_encoder.weight"),
        "token": same("graph_token.weight", (-1,)),
        "bias.distance.weight": same("spatial_pos_encoder.weight"),
        "bias.edge.weight": same("edge_encoder.weight"),
        "bias.hop": same("edge_dis_encoder.weight", (-1, heads, heads)),
        "bias.token_distance": same("graph_token_virtual_distance.weight", (-1,)),
        **linear("final_norm", "final_ln"),
        **linear("head", "downstream_out_proj"),
    }
    for i in range(layers):
        attention = f"layers.{i}.self_attention"
        for part in ("weight", "bias"):
            found[f"layers.{i}.query_key_value.{part}"] = joined(*(f"{attention}.linear_{x}.{part}" for x in "qkv"))
        found |= linear(f"layers.{i}.attention_norm", f"{attention}_norm")
        found |= linear(f"layers.{i}.output", f"{attention}.output_layer")
        found |= linear(f"layers.{i}.ffn_norm", f"layers.{i}.ffn_norm")
        found |= linear(f"layers.{i}.ffn.0", f"layers.{i}.ffn.layer1")
        found |= linear(f"layers.{i}.ffn.2", f"layers.{i}.ffn.layer2")
    return found


def test_zinc():
    fixture = load_fixture("zinc_graphormer")
    sizes = fixture["kwargs"]
    require_options(fixture, edge_type="multi_hop", dataset_name="ZINC")
    settings = GraphormerSettings(
        layers=sizes["n_layers"],
        hidden_size=sizes["hidden_dim"],
        num_heads=sizes["num_heads"],
        ffn_size=sizes["ffn_dim"],
        path_edges=sizes["multi_hop_max_dist"],
        tables="zinc",
    )
    schema = graph_schema(fixture, (62,), (61,))  # what the tables of ZINC have room for
    model = Graphormer(settings, schema)
    mapping = names(settings.layers, settings.num_heads)
    load_state(model, fixture, mapping)
    pairs = batch_of(fixture, schema, settings.view)
    rows = [slice(0, graph["num_nodes"] + 1) for graph in fixture["graphs"]]
    hidden = []
    for ours, theirs in zip(model.encode(pairs), fixture["hidden"], strict=True):
        parts = ours.split([row.stop for row in rows])
        hidden += [(part, theirs[g, row]) for g, (part, row) in enumerate(zip(parts, rows, strict=True))]
    compare(model, fixture, mapping, model(pairs), hidden)


@pytest.mark.parametrize(
    ("preset", "dataset", "count"),
    [("slim", "zinc", 489_481), ("base", "molhiv", 47_085_377), ("large", "molpcba", 119_529_664)],
)
def test_published_sizes(preset, dataset, count):
    settings = GraphormerSettings(**GraphormerSettings.PRESETS[preset])
    schema = schema_of(dataset)
    assert settings.count_parameters(schema) == count
    if preset == "slim":
        assert sum(parameter.numel() for parameter in build_model(settings, schema).parameters()) == count
