import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.gin.settings import GINSettings
from tests.models.benchmark_parity import graph_of, schema_of, settings_of, shared_names
from tests.models.published import batch_norm, compare, linear, load_fixture, load_state, require_options, same


@pytest.mark.parametrize("name", ["zinc_gin", "cluster_gin"])
def test_equals_the_published_code(name):
    fixture = load_fixture(name)
    require_options(fixture, n_mlp_GIN=2, neighbor_aggr_GIN="sum", learn_eps_GIN=True)
    settings, schema = GINSettings(**settings_of(fixture)), schema_of(fixture)
    names = shared_names(fixture)
    for layer in range(settings.layers):
        ours, theirs = f"layers.{layer}", f"ginlayers.{layer}"
        names[f"{ours}.convolution.eps"] = same(f"{theirs}.eps")
        for at, number in ((0, 0), (3, 1)):
            names |= linear(f"{ours}.convolution.apply_func.{at}", f"{theirs}.apply_func.mlp.linears.{number}")
        names |= batch_norm(f"{ours}.convolution.apply_func.1", f"{theirs}.apply_func.mlp.batch_norms.0")
        names |= batch_norm(f"{ours}.norm", f"{theirs}.bn_node_h")
    for number in range(settings.layers + 1):
        names |= linear(f"head.{number}", f"linears_prediction.{number}")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = graph_of(fixture, schema, settings)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    compare(model, fixture, names, model(graph), hidden)
