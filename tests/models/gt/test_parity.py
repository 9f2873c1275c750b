"""Outputs, hidden states and gradients of GT's released code, and its parameter counts."""

import dataclasses

import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.models.gt.model import GT
from grpe_dgl.models.gt.settings import GTSettings
from tests.models.published import (
    batch_of,
    compare,
    graph_schema,
    joined,
    linear,
    load_fixture,
    load_state,
    node_schema,
    post_norm,
    require_options,
    same,
)


def names(layers, *, edge_features):
    found = {
        "nodes.embedding.weight": same("embedding_h.weight"),
        **linear("laplacian", "embedding_lap_pos_enc"),
        **linear("head.0", "MLP_layer.FC_layers.0"),
        **linear("head.2", "MLP_layer.FC_layers.1"),
        **linear("head.4", "MLP_layer.FC_layers.2"),
    }
    if edge_features:
        found["edges.embedding.weight"] = same("embedding_e.weight")
    for i in range(layers):
        attention = f"layers.{i}.attention"
        found[f"layers.{i}.query_key_value.weight"] = joined(*(f"{attention}.{x}.weight" for x in "QKV"))
        if edge_features:
            found[f"layers.{i}.edge.weight"] = same(f"{attention}.proj_e.weight")
            found |= post_norm(f"layers.{i}.node_update", f"layers.{i}", "_h")
            found |= post_norm(f"layers.{i}.edge_update", f"layers.{i}", "_e")
        else:
            found |= post_norm(f"layers.{i}.node_update", f"layers.{i}", "")
    return found


@pytest.mark.parametrize("name", ["zinc_gt", "cluster_gt"])
def test_released_code(name):
    fixture = load_fixture(name)
    sizes, state = fixture["kwargs"], fixture["state"]
    edge_features = "embedding_e.weight" in state
    norms = {"layer_norm": False, "batch_norm": True, "residual": True}
    require_options(fixture, **norms, lap_pos_enc=True, wl_pos_enc=False, out_dim=sizes["hidden_dim"])
    settings = GTSettings(
        layers=sizes["L"],
        hidden_size=sizes["hidden_dim"],
        num_heads=sizes["n_heads"],
        laplacian_size=sizes["pos_enc_dim"],
        edge_features=edge_features,
        readout=sizes["readout"],
    )
    columns = (len(state["embedding_h.weight"]),)
    if edge_features:
        schema = graph_schema(fixture, columns, (len(state["embedding_e.weight"]),))
    else:
        schema = node_schema(fixture, columns)
    model = GT(settings, schema)
    mapping = names(settings.layers, edge_features=edge_features)
    load_state(model, fixture, mapping)
    graph = batch_of(fixture, schema, dataclasses.replace(settings.view, encodings=()))
    graph.ndata["laplacian"] = torch.cat([graph["pos_enc"] for graph in fixture["graphs"]])
    nodes, edges = model.encode(graph, last_edges=True)
    hidden = list(zip(nodes, fixture["hidden"], strict=True))
    hidden += list(zip(edges, fixture.get("hidden_edge", []), strict=True))
    compare(model, fixture, mapping, model(graph), hidden)


@pytest.mark.parametrize(
    ("preset", "dataset", "count", "changes"),
    [
        ("zinc", "zinc", 588_929, {}),
        ("sbm", "cluster", 524_026, {}),
        ("sbm", "pattern", 522_982, {"laplacian_size": 2}),
    ],
)
def test_published_sizes(preset, dataset, count, changes):
    settings, schema = GTSettings(**{**GTSettings.PRESETS[preset], **changes}), schema_of(dataset)
    assert settings.count_parameters(schema) == count
    assert sum(parameter.numel() for parameter in build_model(settings, schema).parameters()) == count
