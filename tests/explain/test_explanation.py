import numpy as np
import pytest
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.descriptors import NAMES, descriptors_of_smiles
from grpe_dgl.errors import InputError
from grpe_dgl.explain import explain
from grpe_dgl.explain.explanation import Explainer
from grpe_dgl.explain.variants import Variants
from tests import trained

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
FAMILIES = {
    "gin": {"name": "gin", "layers": 2, "hidden_size": 16},
    "gatedgcn": {"name": "gatedgcn", "layers": 2, "hidden_size": 16, "encoding": "laplacian:3"},
    "graphormer": {
        "name": "graphormer", "layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16, "path_edges": 3,
    },
}  # fmt: skip


def predict(checkpoint, arrays, graph):
    model, view = checkpoint.model().double(), checkpoint.recipe.model.view
    with torch.no_grad():
        return float(model(collate(arrays, np.array([graph]), view).graph)[0, 0]) * 2.0 - 3.0  # the targets' unit


def test_leaving_out_equals_predictions_of_graphs_made_by_hand():
    checkpoint = trained.checkpoint()
    (found,) = explain(checkpoint, ["OC=O"])
    # Formic acid: node features and distances by hand, edges of the canonical form O=CO: 0-1, 1-2.
    _, arrays = read_molecules(["O=CO"])
    variants = Variants(arrays, np.arange(1))
    assert variants.counts == [(3, 2)] and variants.pairs[0].tolist() == [[0, 1], [1, 2]]
    assert variants.distance.tolist() == [
        *(0, 1, 2, 1, 0, 1, 2, 1, 0),  # whole
        *(0, 1, 1, 0), *(0, 2, 2, 0), *(0, 1, 1, 0),  # without an atom
        *(0, 2, 2, 2, 0, 1, 2, 1, 0), *(0, 1, 2, 1, 0, 2, 2, 2, 0),  # without a bond
    ]  # fmt: skip
    assert np.diff(variants.edge_offsets).tolist() == [4, 2, 0, 2, 2, 2]
    assert variants.src.tolist() == [*(0, 1, 1, 2), *(0, 1), *(0, 1), *(1, 2), *(0, 1)]
    whole = predict(checkpoint, variants, 0)
    changes = [whole - predict(checkpoint, variants, graph) for graph in range(1, 6)]
    assert found.value == pytest.approx(whole, abs=1e-5)
    # OC=O: atom 0 is node 2, bond 0 joins nodes 1 and 2.
    np.testing.assert_allclose(found.atoms, [changes[2], changes[1], changes[0]], atol=1e-5)
    np.testing.assert_allclose(found.bonds, [changes[4], changes[3]], atol=1e-5)
    assert found.bond_ends == [(0, 1), (1, 2)] and np.isnan(found.baseline)


def test_the_way_of_writing_and_the_other_molecules_do_not_matter():
    checkpoint = trained.checkpoint()
    one, other, _ = explain(checkpoint, ["OCC", "CCO", ASPIRIN])
    np.testing.assert_allclose(one.atoms, other.atoms[::-1], atol=1e-5)
    np.testing.assert_allclose(one.bonds, other.bonds[::-1], atol=1e-5)


@pytest.mark.parametrize("family", ["grpe", *FAMILIES])
def test_contributions_of_gradients_sum_to_the_value_minus_the_baseline(family):
    checkpoint = trained.checkpoint() if family == "grpe" else trained.checkpoint_of(FAMILIES[family])
    for found in explain(checkpoint, [ASPIRIN, "CCN", "C"], method="gradient"):
        gap = abs(found.atoms.sum() - (found.value - found.baseline))
        assert gap <= 0.01 * abs(found.atoms).sum() + 1e-5
        assert np.isnan(found.bonds).all()
    masked = explain(checkpoint, [ASPIRIN, "CCN", "C"])
    assert np.isfinite(masked[0].atoms).all() and masked[0].atoms.std() > 0
    assert np.isfinite(masked[0].bonds).all()
    assert np.isnan(masked[2].atoms).all() and np.isfinite(masked[2].value)  # nothing is left of methane


def test_descriptors_have_a_number_of_their_own():
    """The head of this model is one linear map, so the part of the descriptors is their product with its weights."""
    checkpoint = trained.checkpoint(overrides={"model.descriptors": "rdkit"})
    (found,) = explain(checkpoint, ["CCO"], method="gradient")
    weight = next(value for value in checkpoint.weights.values() if value.shape == (1, 16 + len(NAMES)))
    values = np.clip(np.nan_to_num(descriptors_of_smiles(["CCO"])[0]), -4, 4)
    assert found.descriptors == pytest.approx(2.0 * float(weight[0, 16:].numpy() @ values), abs=1e-4)
    assert np.isnan(explain(trained.checkpoint(), ["CCO"], method="gradient")[0].descriptors)
    assert np.isnan(explain(checkpoint, ["CCO"])[0].descriptors)  # masking: in the numbers of the atoms


def test_classifications_are_explained_in_log_odds():
    binary = trained.checkpoint(trained.BINARY)
    explainer = Explainer(binary, "masking", "soluble")
    assert explainer.output.unit == "log-odds of soluble" and explainer.output.column == 1
    classes = trained.checkpoint(trained.CLASSES)
    explainer = Explainer(classes, target="green")
    outputs = torch.tensor([[1.0, 2.0, 3.0]])
    probability = outputs.softmax(-1)[0, 1]
    assert float(explainer.output.values(outputs)) == pytest.approx(float(torch.logit(probability)), abs=1e-5)


def test_what_cannot_be_read_or_explained():
    with pytest.warns(UserWarning, match="molecule 1: 'C1' cannot be read"):
        found = explain(trained.checkpoint(), ["CC", "C1"])
    assert found[1] is None and found[0] is not None
    with pytest.raises(InputError, match="target is 'logs' .did you mean logS.*; accepted: logS"):
        explain(trained.checkpoint(), ["CC"], target="logs")
    with pytest.raises(InputError, match="method is 'lime'; accepted: masking, gradient"):
        explain(trained.checkpoint(), ["CC"], method="lime")
