import pytest

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.models.gat.settings import GATSettings
from tests.models.benchmark_parity import graph_of, schema_of, settings_of, shared_names
from tests.models.published import batch_norm, compare, load_fixture, load_state, same


@pytest.mark.parametrize("name", ["zinc_gat", "cluster_gat"])
def test_equals_the_published_code(name):
    fixture = load_fixture(name)
    kwargs = fixture["kwargs"]
    sizes = {"hidden_size": kwargs["hidden_dim"] * kwargs["n_heads"], "num_heads": kwargs["n_heads"]}
    settings, schema = GATSettings(**{**settings_of(fixture), **sizes}), schema_of(fixture)
    names = shared_names(fixture)
    for layer in range(settings.layers):
        for part in ("attn_l", "attn_r", "bias", "fc.weight"):
            names[f"layers.{layer}.convolution.{part}"] = same(f"layers.{layer}.gatconv.{part}")
        names |= batch_norm(f"layers.{layer}.norm", f"layers.{layer}.batchnorm_h")
    model = load_state(build_model(settings, schema), fixture, names)
    graph = graph_of(fixture, schema, settings)
    hidden = zip(model.encode(graph), fixture["hidden"], strict=True)
    compare(model, fixture, names, model(graph), hidden)
