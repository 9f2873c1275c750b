import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.gcn.settings import GCNSettings
from tests.models.benchmark_parity import graph_of, schema_of, settings_of, shared_names
from tests.models.published import batch_norm, compare, linear, load_fixture, load_state


@pytest.mark.parametrize("name", ["zinc_gcn", "cluster_gcn"])
def test_equals_the_published_code(name):
    fixture = load_fixture(name)
    settings, schema = GCNSettings(**settings_of(fixture)), schema_of(fixture)
    names = shared_names(fixture)
    for layer in range(settings.layers):
        names |= linear(f"layers.{layer}.convolution", f"layers.{layer}.conv")
        names |= batch_norm(f"layers.{layer}.norm", f"layers.{layer}.batchnorm_h")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = graph_of(fixture, schema, settings)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    compare(model, fixture, names, model(graph), hidden)
