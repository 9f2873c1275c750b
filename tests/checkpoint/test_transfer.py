import dataclasses

import pytest
import torch

from grpe_dgl.checkpoint.build import build_model, freeze_encoder
from grpe_dgl.checkpoint.transfer import require_transferable, transfer_weights
from grpe_dgl.errors import InputError
from grpe_dgl.export.check import random_batches
from tests import trained


def target(source, **model):
    """A new model for two yes-or-no targets, and its recipe's model section."""
    recipe = dataclasses.replace(source.recipe.model, **model)
    schema = trained.molecule_schema(trained.BINARY)
    torch.manual_seed(99)
    built = build_model(recipe, schema)
    return built.eval(), recipe


def encoded(model, source, max_distance, seed=3):
    """What a model makes of random graphs, after every layer, with the codes of its own max_distance."""
    other = dataclasses.replace(source, recipe=source.recipe.override({"model.max_distance": max_distance}))
    return [x for batch in random_batches(other, seed=seed) for x in model.encode(batch.pairs)]


def test_every_weight_but_the_head_carries_over():
    source = trained.checkpoint()
    model, recipe = target(source)
    head = model.head[0].weight.clone()
    carried = transfer_weights(source, model, recipe)
    weights = model.state_dict()
    for name, tensor in source.weights.items():
        if not name.startswith("head."):
            assert torch.equal(weights[name], tensor), name
    assert torch.equal(model.head[0].weight, head)
    others = sum(tensor.numel() for name, tensor in source.weights.items() if not name.startswith("head."))
    assert carried.numbers == others and carried.fresh == ["head (2 wide)"] and carried.left == []
    for ours, theirs in zip(encoded(model, source, 5), encoded(source.model(), source, 5), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_larger_max_distance_keeps_the_common_distances():
    source = trained.checkpoint(overrides={"model.max_distance": 3})
    model, recipe = target(source, max_distance=5)
    before = model.encodings[0].query_spd.weight.clone()
    carried = transfer_weights(source, model, recipe)
    ours, theirs = model.encodings[0].query_spd.weight, source.weights["encodings.0.query_spd.weight"]
    assert torch.equal(ours[:4], theirs[:4])
    assert torch.equal(ours[4:6], before[4:6])  # distances 4 and 5 start fresh
    assert torch.equal(ours[6:], theirs[4:])  # far, unreachable, virtual
    assert carried.fresh[-1] == "distances 4 to 5 in every table"


def test_a_smaller_max_distance_leaves_distances_behind():
    source = trained.checkpoint()
    model, recipe = target(source, max_distance=4)
    carried = transfer_weights(source, model, recipe)
    ours, theirs = model.encodings[0].value_spd.weight, source.weights["encodings.0.value_spd.weight"]
    assert torch.equal(ours, theirs[[0, 1, 2, 3, 4, 6, 7, 8]])
    assert carried.left == ["distance 5 in every table"] and carried.fresh == ["head (2 wide)"]


def test_shared_tables_become_every_layer_s_own():
    source = trained.checkpoint()
    model, recipe = target(source, share_encodings=False)
    transfer_weights(source, model, recipe)
    for ours, theirs in zip(encoded(model, source, 5), encoded(source.model(), source, 5), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_tables_that_one_side_lacks_are_told():
    source = trained.checkpoint(overrides={"model.edge_attention": False})
    model, recipe = target(source, edge_attention=True, graph_value=False)
    carried = transfer_weights(source, model, recipe)
    assert set(carried.fresh) == {"head (2 wide)", "encodings.0.query_edge.weight", "encodings.0.key_edge.weight"}
    assert carried.left == ["encodings.0.value_spd.weight", "encodings.0.value_edge.weight"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 32}, "model.hidden_size is 16 in x.ckpt, 32 was asked for"),
        ({"num_heads": 2}, "model.num_heads is 4 in x.ckpt, 2 was asked for"),
        ({"layers": 4}, "model.layers is 3 in x.ckpt, 4 was asked for"),
    ],
)
def test_sizes_that_do_not_fit(change, message):
    source = trained.checkpoint()
    recipe = dataclasses.replace(source.recipe.model, **change)
    with pytest.raises(InputError, match=message):
        require_transferable(source, recipe, source.schema, what="x.ckpt", target="data/y")


def test_vocabularies_that_do_not_fit():
    source = trained.checkpoint()
    other = dataclasses.replace(source.schema, vocabulary="zinc", node_vocabulary=(28,))
    with pytest.raises(InputError, match="data/y do not fit: vocabulary is 'ogb' for the model, 'zinc' there"):
        require_transferable(source, source.recipe.model, other, what="x.ckpt", target="data/y")
    separate = trained.checkpoint(overrides={"model.share_encodings": False})
    with pytest.raises(InputError, match="share_encodings is false in x.ckpt, true was asked for"):
        require_transferable(separate, source.recipe.model, source.schema, what="x.ckpt", target="data/y")


@pytest.mark.parametrize("share", [True, False])
def test_the_transformer_alone_crosses_vocabularies(share):
    source = trained.checkpoint(overrides={"model.share_encodings": share})
    settings = source.recipe.model
    schema = dataclasses.replace(source.schema, vocabulary="zinc", node_vocabulary=(28,), edge_columns=(4,))
    require_transferable(source, settings, schema, what="x.ckpt", target="data/y", transfer="transformer")
    torch.manual_seed(99)
    model = build_model(settings, schema)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    carried = transfer_weights(source, model, settings, "transformer")
    new = {name for name, tensor in model.state_dict().items() if torch.equal(tensor, before[name])}
    edges = {name for name in before if name.endswith("_edge.weight")}
    nodes = {name for name in before if name.startswith("nodes.")}
    assert len(edges) == (3 if share else 9) and nodes and edges | nodes <= new
    for name, tensor in model.state_dict().items():
        if name not in edges | nodes and not name.startswith("head."):
            assert torch.equal(tensor, source.weights[name]), name
    count = len(edges | nodes)
    assert carried.fresh[1:] == [f"embeddings of nodes and edges ({count} tensors)"]
    assert carried.left == [f"its embeddings of nodes and edges ({count} tensors)"]
    rest = [t for name, t in source.weights.items() if name not in edges | nodes and not name.startswith("head.")]
    assert carried.numbers == sum(tensor.numel() for tensor in rest)


def test_another_vocabulary_has_a_way_out():
    source = trained.checkpoint()
    other = dataclasses.replace(source.schema, vocabulary="zinc", node_vocabulary=(28,))
    with pytest.raises(InputError) as refused:
        require_transferable(source, source.recipe.model, other, what="x.ckpt", target="data/y")
    assert refused.value.hint == "transfer_transformer"


def test_a_frozen_encoder_trains_the_head_alone():
    model = trained.checkpoint().model()
    freeze_encoder(model)
    trainable = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trainable == {"head.0.weight", "head.0.bias"}
