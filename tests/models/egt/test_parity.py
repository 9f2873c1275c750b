"""Outputs, hidden states and gradients of EGT's two released codes, and their parameter counts."""

import dataclasses

import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.models.egt.model import EGT
from grpe_dgl.models.egt.settings import EGTSettings
from tests.models.published import (
    batch_of,
    compare,
    graph_schema,
    linear,
    load_fixture,
    load_state,
    node_schema,
    require_options,
    same,
)


def keras_names(layers, head, *, edge_features):
    """Keras has kernels as (in, out), and gamma and beta for a norm's weight and bias."""

    def dense(ours, theirs):
        return {
            f"{ours}.weight": lambda state: state[f"{theirs}/kernel:0"].T,
            f"{ours}.bias": same(f"{theirs}/bias:0"),
        }

    def norm(ours, theirs):
        return {f"{ours}.weight": same(f"{theirs}/gamma:0"), f"{ours}.bias": same(f"{theirs}/beta:0")}

    found = {
        "nodes.embedding.weight": same("node_emb/embeddings:0"),
        **dense("svd", "svd_emb"),
        **dense("pairs.within", "adj_emb"),
        **norm("final_norm", "node_norm_final"),
        **dense(f"head.{head}", "target"),
    }
    if edge_features:
        found["pairs.edge.weight"] = same("fm_emb/embeddings:0")
    for i in range(head):
        found |= dense(f"head.{i}.0", f"mlp_out_{i}")
    for i in range(layers):
        found |= norm(f"layers.{i}.node_norm", f"norm_mha_{i:02}")
        found |= norm(f"layers.{i}.edge_norm", f"norm_edge_{i:02}")
        found |= dense(f"layers.{i}.query_key_value", f"dense_qkv_{i:02}")
        found |= dense(f"layers.{i}.edge_bias", f"dense_edge_b_{i:02}")
        found |= dense(f"layers.{i}.gate", f"attention_gates_{i:02}")
        found |= dense(f"layers.{i}.output", f"dense_mha_{i:02}")
        kinds = ["node"] if i == layers - 1 else ["node", "edge"]
        for kind in kinds:
            found |= norm(f"layers.{i}.{kind}_ffn.0", f"norm_fnn_{kind}_{i:02}")
            found |= dense(f"layers.{i}.{kind}_ffn.1", f"fnn_lr1_{kind}_{i:02}")
            found |= dense(f"layers.{i}.{kind}_ffn.3", f"fnn_lr2_{kind}_{i:02}")
        if i < layers - 1:
            found |= dense(f"layers.{i}.edge_output", f"dense_edge_r_{i:02}")
    return found


def torch_names(layers, head, svd_size):
    # Their columns are [left 1, right 1, left 2, ...], ours first all left, then all right.
    order = torch.arange(2 * svd_size).view(-1, 2).T.flatten()
    found = {
        "nodes.embedding.weight": same("nodef_embed.weight"),
        "svd.weight": lambda state: state["svd_embed.weight"][:, order],
        "svd.bias": same("svd_embed.bias"),
        "pairs.exact.weight": same("dist_embed.weight"),
        "pairs.edge.weight": same("featm_embed.weight"),
        "pairs.virtual": same("vn_layer.vn_edge_embeddings"),
        "virtual": same("vn_layer.vn_node_embeddings"),
        **linear("final_norm", "final_ln_h"),
        **linear(f"head.{head}", f"mlp_layers.{head}"),
    }
    for i in range(head):
        found |= linear(f"head.{i}.0", f"mlp_layers.{i}")
    parts = {
        "node_norm": "mha_ln_h", "edge_norm": "mha_ln_e", "edge_bias": "lin_E", "gate": "lin_G",
        "query_key_value": "lin_QKV", "output": "lin_O_h", "node_ffn.0": "ffn_ln_h", "node_ffn.1": "lin_W_h_1",
        "node_ffn.3": "lin_W_h_2",
    }  # fmt: skip
    edge_parts = {
        "edge_output": "lin_O_e", "edge_ffn.0": "ffn_ln_e", "edge_ffn.1": "lin_W_e_1", "edge_ffn.3": "lin_W_e_2",
    }  # fmt: skip
    for i in range(layers):
        for ours, theirs in (parts | edge_parts if i < layers - 1 else parts).items():
            found |= linear(f"layers.{i}.{ours}", f"EGT_layers.{i}.{theirs}")
    return found


def read_batch(fixture, schema, settings, svd):
    view = dataclasses.replace(settings.view, encodings=())
    pairs = batch_of(fixture, schema, view)
    pairs.ndata["svd_self_loops"] = svd
    return pairs


def hidden_states(model, pairs, fixture):
    """Return pairs of our states and theirs, graph by graph; states of pairs only as far as they are given."""
    nodes, states, padding = model.encode(pairs)
    real = padding.mask
    both = real.unsqueeze(1) & real.unsqueeze(2)
    found = [(padding.pad(x)[real], theirs[real]) for x, theirs in zip(nodes, fixture["hidden"], strict=True)]
    theirs = fixture["hidden_edge"][: len(states)]
    return found + [(padding.pad_pairs(e)[both], theirs[i][both]) for i, e in enumerate(states[: len(theirs)])]


def keras_settings(sizes, *, edge_features):
    return EGTSettings(
        layers=sizes["model_height"],
        hidden_size=sizes["model_width"],
        edge_size=sizes["edge_width"],
        num_heads=sizes["num_heads"],
        node_ffn=sizes["ffn_multiplier"],
        edge_ffn=sizes["ffn_multiplier"],
        max_distance=sizes["upto_hop"],
        svd_size=sizes["sel_svd_features"],
        scale_degree=sizes["scale_degree"],
        head_ratios=tuple(sizes["mlp_layers"]),
        random_mask=sizes["random_mask_prob"],
        edge_features=edge_features,
    )


@pytest.mark.parametrize("name", ["zinc_egt", "cluster_egt"])
def test_first_code(name):
    fixture = load_fixture(name)
    state, edge_features = fixture["state"], "fm_emb/embeddings:0" in fixture["state"]
    require_options(fixture, use_svd=True, transform_svd=True, gate_attention=True, edge_channel_type="residual")
    require_options(fixture, num_virtual_nodes=0, readout_edges=False)
    settings = keras_settings(fixture["kwargs"], edge_features=edge_features)
    columns = (len(state["node_emb/embeddings:0"]) - 1,)
    if edge_features:
        schema = graph_schema(fixture, columns, (len(state["fm_emb/embeddings:0"]) - 1,))
    else:
        schema = node_schema(fixture, columns)
    model = EGT(settings, schema)
    mapping = keras_names(settings.layers, len(settings.head_ratios), edge_features=edge_features)
    load_state(model, fixture, mapping)
    # (n, vectors, 2) -> left vectors, then right ones; the code uses the first sel_svd_features of those stored
    svd = [graph["pos_enc"][:, : settings.svd_size].transpose(1, 2).flatten(1) for graph in fixture["graphs"]]
    pairs = read_batch(fixture, schema, settings, torch.cat(svd))
    compare(model, fixture, mapping, model(pairs), hidden_states(model, pairs, fixture))


def test_second_code():
    fixture = load_fixture("mol_egt")
    sizes, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, activation="elu")
    node_columns, edge_columns = (fixture["graphs"][0][key].shape[1] for key in ("node_feat", "edge_feat"))
    node_rows = (len(state["nodef_embed.weight"]) - 1) // node_columns
    edge_rows = (len(state["featm_embed.weight"]) - 1) // edge_columns
    schema = graph_schema(fixture, (node_rows,) * node_columns, (edge_rows,) * edge_columns)
    settings = EGTSettings(
        **{
            **EGTSettings.PRESETS["110m"],
            "layers": sizes["model_height"],
            "hidden_size": sizes["node_width"],
            "edge_size": sizes["edge_width"],
            "num_heads": sizes["num_heads"],
            "node_ffn": sizes["node_ffn_multiplier"],
            "edge_ffn": sizes["edge_ffn_multiplier"],
            "scale_degree": sizes["scale_degree"],
            "max_distance": sizes["upto_hop"],
            "virtual_nodes": sizes["num_virtual_nodes"],
            "svd_size": sizes["svd_encodings"],
            "node_column_rows": node_rows,
            "edge_column_rows": edge_rows,
            "see_padding": True,
        }
    )
    model = EGT(settings, schema)
    mapping = torch_names(settings.layers, len(settings.head_ratios), settings.svd_size)
    load_state(model, fixture, mapping)
    svd = torch.cat([graph["pos_enc"] for graph in fixture["graphs"]])
    pairs = read_batch(fixture, schema, settings, svd.unflatten(1, (-1, 2)).transpose(1, 2).flatten(1))
    compare(model, fixture, mapping, model(pairs), hidden_states(model, pairs, fixture))


@pytest.mark.parametrize(
    ("preset", "dataset", "count"),
    [
        ("zinc", "zinc", 509_025),
        ("sbm", "cluster", 548_206),
        ("sbm", "pattern", 547_882),
        ("110m", "molhiv", 110_691_201),
        ("110m", "molpcba", 110_788_864),
    ],
)
def test_published_sizes(preset, dataset, count):
    settings, schema = EGTSettings(**EGTSettings.PRESETS[preset]), schema_of(dataset)
    assert settings.count_parameters(schema) == count
    if preset != "110m":
        assert sum(parameter.numel() for parameter in build_model(settings, schema).parameters()) == count
