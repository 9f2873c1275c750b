import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.gatedgcn.settings import GatedGCNSettings
from tests.models.benchmark_parity import graph_of, schema_of, settings_of, shared_names
from tests.models.published import TOLERANCE, batch_norm, compare, difference, linear, load_fixture, load_state, same

MAPS = {"self_map": "A", "neighbour_map": "B", "edge_gate": "C", "source_gate": "D", "target_gate": "E"}


@pytest.mark.parametrize("name", ["zinc_gatedgcn", "zinc_gatedgcn_e_pe", "cluster_gatedgcn", "cluster_gatedgcn_pe"])
def test_equals_the_published_code(name):
    fixture = load_fixture(name)
    edges = bool(fixture["kwargs"]["edge_feat"])
    settings, schema = GatedGCNSettings(edges=edges, **settings_of(fixture)), schema_of(fixture)
    names = shared_names(fixture)
    names |= {"edges.embedding.weight": same("embedding_e.weight")} if edges else linear("edges", "embedding_e")
    for layer in range(settings.layers):
        for ours, theirs in MAPS.items():
            names |= linear(f"layers.{layer}.{ours}", f"layers.{layer}.{theirs}")
        names |= batch_norm(f"layers.{layer}.node_norm", f"layers.{layer}.bn_node_h")
        names |= batch_norm(f"layers.{layer}.edge_norm", f"layers.{layer}.bn_node_e")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = graph_of(fixture, schema, settings)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    edge, x = model.embed_edges(graph), model.embed(graph)
    for layer, expected in zip(model.layers, fixture["hidden_edge"], strict=True):
        x, edge = layer(graph, x, edge)
        assert difference(edge, expected) < TOLERANCE
    compare(model, fixture, names, model(graph), hidden)
    unused = [f"layers.{settings.layers - 1}.edge_norm.{part}" for part in ("weight", "bias")]
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == unused
    assert model._ddp_params_and_buffers_to_ignore == unused
