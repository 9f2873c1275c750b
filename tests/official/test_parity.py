"""The authors' numbers, and those of the reference that reproduces them, to 1e-9 in float64."""

import pytest
import torch

import grpe_dgl
from grpe_dgl.official.convert import NOWHERE, convert
from tests.official.parity import graphs_of, load_parity, pairs_of
from tests.official.reference import reference_parity

EXACT = {"rtol": 0.0, "atol": 1e-9}
FILES = [("zinc", 4), ("mol", 60)]


@pytest.mark.parametrize("backend", ["fused", "dense", "dgl"])
@pytest.mark.parametrize(("name", "edge_types"), FILES)
@pytest.mark.parametrize("source", ["authors", "reference"])
def test_logits_hidden_states_and_gradients(source, name, edge_types, backend):
    parity = load_parity(name, source)
    imported = convert(parity["state"], num_heads=parity["kwargs"]["nhead"], backend=backend)
    model = imported.model
    graphs = graphs_of(name, parity["inputs"])
    pairs = pairs_of(graphs, 4, edge_types)
    logits = model(pairs)
    torch.testing.assert_close(logits, parity["logits"], **EXACT)

    sizes = [graph.num_nodes() + 1 for graph in graphs]
    for ours, theirs in zip(model.encode(pairs), parity["hidden"], strict=True):
        expected = torch.cat([theirs[b, :n] for b, n in enumerate(sizes)])
        torch.testing.assert_close(ours, expected, **EXACT)

    logits.sum().backward()
    found = {key: torch.zeros_like(gradient) for key, gradient in parity["grads"].items()}
    parameters = dict(model.named_parameters())
    assert parameters.keys() == imported.parts.keys()
    for parameter, parts in imported.parts.items():
        gradient = parameters[parameter].grad
        assert gradient is not None
        for part, ours in zip(parts, gradient.chunk(len(parts)), strict=True):
            if part.rows is None:
                found[part.key] += ours.reshape(found[part.key].shape)
            else:  # where several of our rows come from one of theirs, the sum is theirs
                known = part.rows != NOWHERE
                found[part.key].index_add_(0, part.rows[known], ours[known])
    for key, gradient in parity["grads"].items():
        torch.testing.assert_close(found[key], gradient, **EXACT, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", ["zinc", "mol"])
def test_the_reference_of_the_other_tests_gives_the_authors_numbers(name):
    parity = load_parity(name)
    found = reference_parity(parity["state"], parity["inputs"], num_heads=parity["kwargs"]["nhead"])
    torch.testing.assert_close(found["logits"], parity["logits"], **EXACT)
    sizes = (1 + (~parity["inputs"]["mask"]).sum(1)).tolist()
    for ours, theirs in zip(found["hidden"], parity["hidden"], strict=True):
        for b, n in enumerate(sizes):
            torch.testing.assert_close(ours[b, :n], theirs[b, :n], **EXACT)
    for key, gradient in parity["grads"].items():
        torch.testing.assert_close(found["grads"][key], gradient, **EXACT)


@pytest.mark.parametrize("source", ["authors", "reference"])
@pytest.mark.parametrize(("name", "dataset"), [("zinc", "zinc"), ("mol", "ogbg-molclintox")])
def test_the_dataset_says_what_the_shapes_say(name, dataset, source):
    parity = load_parity(name, source)
    by_shape = grpe_dgl.import_official(parity["state"], num_heads=4)
    by_name = grpe_dgl.import_official(parity["state"], num_heads=4, dataset=dataset)
    torch.testing.assert_close(by_shape.state_dict(), by_name.state_dict(), rtol=0, atol=0)
