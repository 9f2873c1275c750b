"""The numbers of the authors' PHC-GNN, to 1e-9 in float64."""

import pytest
import torch

from grpe_dgl.models.phc.model import PHC
from grpe_dgl.models.phc.settings import PHCSettings
from tests.models.molecule_parity import capture, encoder_sizes
from tests.models.published import (
    batch_of,
    compare,
    graph_schema,
    linear,
    load_fixture,
    load_state,
    require_options,
    same,
)


def hypercomplex(ours, theirs):
    parts = {"rule": "phm_rule", "weight": "W", "bias": "b"}
    return {f"{ours}.{part}": same(f"{theirs}.{other}") for part, other in parts.items()}


def blocks(names, dim=0):
    """Join one tensor of each component, side by side."""
    return lambda theirs: torch.cat([theirs[name] for name in names], dim)


@pytest.mark.parametrize("name", ["molhiv_phc", "molpcba_phc"])
def test_the_authors_numbers(name):
    fixture = load_fixture(name)
    kwargs, state = fixture["kwargs"], fixture["state"]
    n = kwargs["phm_dim"]
    (width,) = set(kwargs["mp_layers"])
    assert kwargs["atom_encoded_dim"] == width
    require_options(fixture, learn_phm=True, naive_encoder=False, bias=True, activation="relu", real_trafo="linear")
    norms = {"norm_mp": "naive-batch-norm", "norm_dn": "naive-batch-norm"}
    require_options(fixture, **norms, pooling="softattention", msg_encoder="identity", add_self_loops=True)
    settings = PHCSettings(
        components=n,
        layers=len(kwargs["mp_layers"]),
        hidden_size=width,
        aggregation=kwargs["msg_aggr"],
        mlp=kwargs["mlp"],
        skip=kwargs["sc_type"],
        head_sizes=tuple(kwargs["downstream_layers"]),
        dropout=kwargs["dropout_mpnn"][0],
        head_dropout=tuple(kwargs["dropout_dn"]),
    )
    nodes, edges = "atomencoder.encoders.0.embeddings", "bondencoders.0.encoders.0.embeddings"
    schema = graph_schema(fixture, encoder_sizes(state, nodes), encoder_sizes(state, edges))
    model = PHC.from_settings(settings, schema)

    def table(theirs, columns):
        """One table of ours: rows of all columns one below the other, blocks of all components side by side."""
        return lambda state: torch.cat(
            [
                blocks([f"{theirs}.encoders.{c}.embeddings.{f}.weight" for c in range(n)], 1)(state)
                for f in range(columns)
            ]
        )

    def norm(ours, theirs):
        names = {
            f"{ours}.{part}": blocks([f"{theirs}.bn.bn.{c}.{part}" for c in range(n)])
            for part in ("weight", "bias", "running_mean", "running_var")
        }
        counts = [f"{theirs}.bn.bn.{c}.num_batches_tracked" for c in range(n)]
        return names | {f"{ours}.num_batches_tracked": lambda state: [state[name] for name in counts][0]}

    names = {"nodes.embedding.weight": table("atomencoder", len(schema.node_vocabulary))}
    for i in range(settings.layers):
        ours, theirs = f"convolutions.{i}", f"convs.{i}.transform"
        names |= {f"{ours}.edges.embedding.weight": table(f"bondencoders.{i}", len(schema.edge_columns))}
        if settings.aggregation == "softmax":
            names |= {f"{ours}.beta": same(f"{theirs}.beta")}
        if settings.mlp:
            names |= hypercomplex(f"{ours}.first", f"{theirs}.transform.linear1")
            names |= hypercomplex(f"{ours}.second", f"{theirs}.transform.linear2")
            names |= norm(f"{ours}.norm", f"{theirs}.transform.norm")
        else:
            names |= hypercomplex(f"{ours}.first", f"{theirs}.transform")
        names |= norm(f"norms.{i}", f"norms.{i}")
    names |= hypercomplex("pooling.map", "pooling.linear") | linear("pooling.linear", "pooling.real_trafo.affine")
    depth = len(settings.head_sizes)
    for i in range(depth + 1):  # a map, a norm, ReLU and dropout each but the last
        names |= hypercomplex(f"head.{4 * i}", f"downstream.affine.{i}")
        if i < depth:
            names |= norm(f"head.{4 * i + 1}", f"downstream.norm.{i}")
    names |= linear(f"head.{4 * depth + 1}", "downstream.real_trafo.affine")
    load_state(model, fixture, names)
    hidden = capture(model.convolutions)
    output = model(batch_of(fixture, schema, settings.view))
    compare(model, fixture, names, output, zip(hidden, fixture["hidden"], strict=True))
    assert settings.count_parameters(schema) == fixture["num_parameters"]
