import pytest
import torch

import grpe_dgl
from grpe_dgl.errors import InputError
from grpe_dgl.official.convert import convert
from tests.official.parity import graphs_of, pairs_of
from tests.official.random_state import random_inputs, random_state
from tests.official.reference import reference_logits


def logits_of(model, inputs, *, codes=5, feat=None):
    return model(pairs_of(graphs_of("zinc", inputs, feat=feat), 3, codes))


@pytest.mark.parametrize(
    "options",
    [{}, {"shared": False}, {"head_sizes": (7, 11)}, {"shared": False, "head_sizes": (5,)}],
    ids=["plain", "independent tables", "extra layers", "both"],
)
def test_predicts_what_the_authors_model_does(options):
    state, inputs = random_state(**options), random_inputs()
    model = grpe_dgl.import_official(state, num_heads=3)
    torch.testing.assert_close(logits_of(model, inputs), reference_logits(state, inputs, num_heads=3))
    assert next(model.parameters()).dtype == torch.float64


def test_continuous_node_features():
    state, inputs = random_state(node_features=4), random_inputs()
    features = torch.randn(2, 6, 4, dtype=torch.float64)
    model = grpe_dgl.import_official(state, num_heads=3)
    expected = reference_logits(state, inputs, num_heads=3, features=features)
    torch.testing.assert_close(logits_of(model, inputs, feat=features), expected)


def test_one_hot_features_become_the_dataset_s_column():
    """The authors' PATTERN feeds one-hot vectors to a linear map; our PATTERN has a column of three values."""
    state, inputs = random_state(node_features=3, outputs=2), random_inputs(codes=1)
    values = inputs["x"] % 3
    model = grpe_dgl.import_official(state, num_heads=3, dataset="pattern", level="graph")
    one_hot = torch.nn.functional.one_hot(values[..., 0], 3).double()
    expected = reference_logits(state, inputs, num_heads=3, features=one_hot)
    torch.testing.assert_close(logits_of(model, inputs, codes=1, feat=values), expected)
    assert grpe_dgl.import_official(state, num_heads=3, dataset="pattern").level == "node"


def test_prefix_of_data_parallel():
    state = random_state()
    prefixed = {f"module.{key}": value for key, value in state.items()}
    ours, again = (grpe_dgl.import_official(each, num_heads=3) for each in (state, prefixed))
    torch.testing.assert_close(ours.state_dict(), again.state_dict(), rtol=0, atol=0)


def test_says_what_started_at_zero():
    imported = convert(random_state(node_rows=25, codes=3, outputs=1), num_heads=3, dataset="zinc")
    assert imported.zero_started == [*(f"node value {x}" for x in range(24, 28)), "edge type 3"]
    model = imported.model
    assert not model.nodes.embedding.weight[24:].any() and model.nodes.embedding.weight[:24].all()
    assert not model.encodings[0].key_edge.weight[3].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.update(extra=torch.zeros(1)), "no part of the model takes: extra"),
        (lambda state: state.pop("final_ln.bias"), "no key 'final_ln.bias'"),
        (lambda state: state.pop("node_emb.weight"), "no key 'node_emb.weight'"),
        (lambda state: state.pop("layers.0.ffn.layer2.bias"), "no key 'layers.0.ffn.layer2.bias'"),
        (
            lambda state: state.update({"key_hop_emb.weight": torch.zeros(9, 12)}),
            r"key_hop_emb.weight has shape \(9, 12\)",
        ),
        (
            lambda state: state.update({"linear.bias": torch.zeros(4)}),
            r"linear.bias has shape \(4,\); accepted.*\(3,\)",
        ),
        (lambda state: state.update({"layers.5.ffn.layer1.bias": torch.zeros(20)}), "no key 'layers.2"),
        (lambda state: state.update(extra="text"), "has str at 'extra'"),
        (lambda state: state.clear(), "accepted: a mapping of keys to tensors"),
    ],
)
def test_refuses_what_does_not_fit(change, message):
    state = random_state()
    change(state)
    with pytest.raises(InputError, match=message):
        grpe_dgl.import_official(state, num_heads=3)


def test_refuses_heads_and_datasets_that_do_not_fit():
    with pytest.raises(InputError, match="num_heads is 5; accepted: a divisor of the hidden size 12"):
        grpe_dgl.import_official(random_state(), num_heads=5)
    with pytest.raises(InputError, match="there is no dataset 'zinc12'"):
        grpe_dgl.import_official(random_state(), num_heads=3, dataset="zinc12")
    with pytest.raises(InputError, match="takes 4 numbers per node"):
        grpe_dgl.import_official(random_state(node_features=4), num_heads=3, dataset="zinc")
