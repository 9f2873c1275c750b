"""Without an atom or a bond a model that reads descriptors sees those of the molecule that is left."""

import numpy as np
import pytest
import torch
from rdkit import Chem

from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.descriptors import NAMES, descriptors_of_molecule
from grpe_dgl.explain.cut_molecules import cut_descriptors
from grpe_dgl.explain.explanation import Explainer
from grpe_dgl.explain.variants import Variants
from tests import trained

WEIGHT, LOGP = NAMES.index("MolWt"), NAMES.index("MolLogP")


def cut(smiles, kind="rdkit"):
    molecule = Chem.MolFromSmiles(smiles)
    bonds = np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]).reshape(-1, 2)
    return cut_descriptors(molecule, bonds, descriptors_of_molecule(molecule, kind), kind)


@pytest.mark.parametrize(
    ("smiles", "left"),
    [
        ("CCO", ["CO", "C.O", "CC", "C.CO", "CC.O"]),
        ("c1cc[nH]c1", ["C=CNC", "C=CNC", None, "C=CC=C", None, None, None, None, None, None]),  # of the ring, some
        ("C[N+](=O)[O-]", ["[O-][NH+]=O", None, "C[NH2+][O-]", "C[NH+]=O", None, None, None]),
        ("[Na+].[Cl-]", ["[Cl-]", "[Na+]"]),
    ],
)
def test_what_is_left_has_hydrogens_where_it_was_cut(smiles, left):
    rows = cut(smiles, "rdkit_morgan")
    assert len(rows) == len(left)
    for row, expected in zip(rows, left, strict=True):
        if expected is not None:
            whole = descriptors_of_molecule(Chem.MolFromSmiles(expected), "rdkit_morgan")
            np.testing.assert_allclose(row[WEIGHT], whole[WEIGHT], err_msg=expected)
            np.testing.assert_allclose(row[LOGP], whole[LOGP], atol=1e-5, err_msg=expected)
            np.testing.assert_array_equal(row[len(NAMES) :], whole[len(NAMES) :], err_msg=expected)


def test_nodes_in_the_order_of_the_graph():
    smiles = ["OCC", "C"]  # whose canonical form begins at the other end
    _, arrays = read_molecules(smiles)
    variants = Variants(arrays, np.array([0]), smiles)
    weights = variants.encoding("rdkit:178").values[:, WEIGHT]
    atoms = [Chem.GetPeriodicTable().GetElementSymbol(int(number) + 1) for number in arrays.node_feat[:3, 0]]
    lighter = {"C": 14.027, "O": 15.999}
    middle = 1  # leaves methane and water
    for place, atom in enumerate(atoms):
        expected = 16.043 + 18.015 if place == middle else 46.069 - lighter[atom]
        assert weights[1 + place] == pytest.approx(expected, abs=0.01)
    assert variants.encoding("rdkit:178") is variants.encoding("rdkit:178")


def test_contributions_include_those_of_the_descriptors():
    """A model whose head reads the molecular weight alone attributes to each atom what the molecule weighs less."""
    explainer = Explainer(trained.checkpoint(overrides={"model.descriptors": "rdkit"}))
    with torch.no_grad():
        explainer.model.head[0].weight.zero_()
        explainer.model.head[0].weight[0, -len(NAMES) + WEIGHT] = 1
        explainer.model.head_descriptors.mean.zero_()
        explainer.model.head_descriptors.scale.zero_()
        explainer.model.head_descriptors.scale[WEIGHT] = 0.01
    _, (found,) = explainer.explain(["FCCl"])
    deviation = 2  # of the targets of this checkpoint
    expected = np.array([18.998 - 1.008, 12.011 + 2 * 1.008 - 2 * 1.008, 35.453 - 1.008]) / 100
    np.testing.assert_allclose(found.atoms / deviation, expected, atol=1e-3)
