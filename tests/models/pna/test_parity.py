import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.mpnn.settings import MPNNSettings
from grpe_dgl.models.pna.settings import PNASettings
from tests.models.benchmark_parity import graph_of, schema_of, settings_of, shared_names
from tests.models.molecule_parity import atoms, encoder_sizes
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

STATISTICS = ("weight", "bias", "running_mean", "running_var")


@pytest.mark.parametrize(("name", "family"), [("zinc_pna", PNASettings), ("zinc_mpnn_sum", MPNNSettings)])
def test_towers_equal_the_published_code(name, family):
    fixture = load_fixture(name)
    kwargs = fixture["kwargs"]
    layers = {"pretrans_layers": 1, "posttrans_layers": 1, "gru": False, "edge_feat": True}
    require_options(fixture, **layers, divide_input_first=True, divide_input_last=True)
    settings = family(
        **settings_of(fixture),
        aggregators=tuple(kwargs["aggregators"].split()),
        scalers=tuple(kwargs["scalers"].split()),
        mean_log_degree=kwargs["avg_d"]["log"],
        towers=kwargs["towers"],
        edge_size=kwargs["edge_dim"],
        graph_norm=kwargs["graph_norm"],
    )
    schema = schema_of(fixture)
    names = shared_names(fixture) | {"edges.embedding.weight": same("embedding_e.weight")}
    for layer in range(settings.layers):
        theirs = [f"layers.{layer}.towers.{tower}" for tower in range(settings.towers)]
        for ours, part in (("message", "pretrans"), ("update", "posttrans")):
            maps = [f"{tower}.{part}.fully_connected.0.linear" for tower in theirs]
            names[f"layers.{layer}.{ours}.weight"] = stacked([f"{name}.weight" for name in maps], transposed=True)
            names[f"layers.{layer}.{ours}.bias"] = stacked([f"{name}.bias" for name in maps])
        for part in STATISTICS:
            norms = [f"{tower}.batchnorm_h.{part}" for tower in theirs]
            names[f"layers.{layer}.norm.{part}"] = lambda state, norms=norms: torch.cat([state[key] for key in norms])
        counts = [f"{tower}.batchnorm_h.num_batches_tracked" for tower in theirs]
        names[f"layers.{layer}.norm.num_batches_tracked"] = lambda state, counts=counts: [state[k] for k in counts][0]
        names |= linear(f"layers.{layer}.mix", f"layers.{layer}.mixing_network.linear")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = graph_of(fixture, schema, settings)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    compare(model, fixture, names, model(graph), hidden)


def test_simple_layers_equal_the_published_code():
    fixture = load_fixture("molhiv_pna")
    kwargs, state = fixture["kwargs"], fixture["state"]
    require_options(fixture, posttrans_layers=1)
    settings = PNASettings(
        **settings_of(fixture),
        aggregators=tuple(kwargs["aggregators"].split()),
        scalers=tuple(kwargs["scalers"].split()),
        mean_log_degree=kwargs["avg_d"]["log"],
        simple=True,
    )
    prefix = "embedding_h.atom_embedding_list"
    edge_columns = tuple(torch.cat([graph["edge_feat"] for graph in fixture["graphs"]]).amax(0).add(1).tolist())
    schema = graph_schema(fixture, encoder_sizes(state, prefix), edge_columns)
    names = shared_names(fixture) | atoms(state, prefix)
    for layer in range(settings.layers):
        names |= linear(f"layers.{layer}.update", f"layers.{layer}.posttrans.fully_connected.0.linear")
        names |= batch_norm(f"layers.{layer}.norm", f"layers.{layer}.batchnorm_h")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = batch_of(fixture, schema, settings.view)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    compare(model, fixture, names, model(graph), hidden)


def stacked(names, *, transposed=False):
    """Return the map that stacks the tensors of all towers, weights as (in, out)."""
    return lambda state: torch.stack([state[name].mT if transposed else state[name] for name in names])
