"""Outputs, hidden states and gradients of SAN's released code, and its parameter counts."""

import dataclasses

import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.models.san.model import SAN
from grpe_dgl.models.san.settings import SANSettings
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


def names(model, settings, *, added_row):
    found = {
        "nodes.embedding.weight": same("embedding_h.weight"),
        **linear("encoding.input", "linear_A"),
        **linear("head.0", "MLP_layer.FC_layers.0"),
        **linear("head.2", "MLP_layer.FC_layers.1"),
        **linear("head.4", "MLP_layer.FC_layers.2"),
    }
    for name in model.encoding.transformer.state_dict():
        found[f"encoding.transformer.{name}"] = same(f"PE_Transformer.{name}")
    if added_row:
        found["added"] = lambda theirs: theirs["embedding_e.weight"][0]
        found["edges.embedding.weight"] = lambda theirs: theirs["embedding_e.weight"][1:]
    else:
        found["edges.embedding.weight"] = same("embedding_e.weight")
    for i in range(settings.layers):
        attention = f"layers.{i}.attention"
        parts = (f"{attention}.{part}.weight" for part in ("Q", "K", "Q_2", "K_2", "V"))
        found[f"layers.{i}.projections.weight"] = joined(*parts)
        found[f"layers.{i}.edge.weight"] = same(f"{attention}.E.weight")
        found[f"layers.{i}.added.weight"] = same(f"{attention}.E_2.weight")
        found |= post_norm(f"layers.{i}.update", f"layers.{i}", "_h")
    return found


def bonds(graph):
    """Return the graph with its own edges instead of those of the complete graph."""
    real = graph["real"] == 1
    return {**graph, **{key: graph[key][real] for key in ("src", "dst", "edge_feat")}}


@pytest.mark.parametrize("name", ["zinc_san", "cluster_san"])
def test_released_code(name):
    fixture = load_fixture(name)
    sizes, state = fixture["kwargs"], fixture["state"]
    added_row = "n_classes" in sizes
    norms = {"layer_norm": False, "batch_norm": True, "residual": True}
    require_options(fixture, **norms, full_graph=True, LPE="node", GT_out_dim=sizes["GT_hidden_dim"])
    settings = SANSettings(
        layers=sizes["GT_layers"],
        hidden_size=sizes["GT_hidden_dim"],
        num_heads=sizes["GT_n_heads"],
        gamma=sizes["gamma"],
        eigenvectors=sizes["m"],
        encoding_size=sizes["LPE_dim"],
        encoding_layers=sizes["LPE_layers"],
        encoding_heads=sizes["LPE_n_heads"],
        encoding_ffn=sizes["LPE_ffn_dim"],
        added_row=added_row,
        readout=sizes["readout"],
    )
    columns, edges = (len(state["embedding_h.weight"]),), len(state["embedding_e.weight"])
    # The SBMs' edges are type 1 there, with row 0 for added pairs; here the added pairs' row is a tensor of its own.
    schema = node_schema(fixture, columns, (edges - 1,)) if added_row else graph_schema(fixture, columns, (edges,))
    graphs = [bonds(graph) for graph in fixture["graphs"]]
    if added_row:
        graphs = [{**graph, "edge_feat": graph["edge_feat"] - 1} for graph in graphs]
    model = SAN(settings, schema)
    mapping = names(model, settings, added_row=added_row)
    load_state(model, fixture, mapping)
    pairs = batch_of({"graphs": graphs}, schema, dataclasses.replace(settings.view, encodings=()))
    pairs.ndata["spectrum"] = torch.cat([graph["eigvecs"] for graph in graphs])
    pairs.ndata["spectrum_values"] = torch.cat([graph["eigvals"].squeeze(-1) for graph in graphs])
    hidden = list(zip(model.encode(pairs), fixture["hidden"], strict=True))
    compare(model, fixture, mapping, model(pairs), hidden)


@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        ("zinc", 454_697),
        ("cluster", 519_186),
        ("pattern", 520_518),
        ("molhiv", 714_817),
        ("molpcba", 5_885_332),
    ],
)
def test_published_sizes(dataset, count):
    settings, schema = SANSettings(**SANSettings.PRESETS[dataset]), schema_of(dataset)
    assert settings.count_parameters(schema) == count
    assert sum(parameter.numel() for parameter in build_model(settings, schema).parameters()) == count
