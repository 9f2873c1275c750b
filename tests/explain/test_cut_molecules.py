"""Without an atom or a bond a model that reads descriptors sees those of what is left of the molecule."""

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

WEIGHT, CHARGE = NAMES.index("MolWt"), NAMES.index("MaxPartialCharge")


def cut(smiles, kind="rdkit"):
    molecule = Chem.MolFromSmiles(smiles)
    bonds = np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]).reshape(-1, 2)
    whole = descriptors_of_molecule(molecule, kind)
    return molecule, whole, cut_descriptors(molecule, bonds, whole, kind)


@pytest.mark.parametrize("smiles", ["CCO", "c1cc[nH]c1", "C[N+](=O)[O-]", "[Na+].[Cl-]", "C[C@H](N)C(=O)Oc1ccccc1"])
def test_an_atom_goes_with_its_hydrogens_and_a_bond_alone(smiles):
    molecule, whole, rows = cut(smiles, "rdkit_morgan")
    atoms = molecule.GetNumAtoms()
    assert len(rows) == atoms + molecule.GetNumBonds()
    for atom, row in zip(molecule.GetAtoms(), rows, strict=False):
        gone = atom.GetMass() + 1.008 * atom.GetTotalNumHs()
        assert row[WEIGHT] == pytest.approx(whole[WEIGHT] - gone, abs=1e-3)
        assert np.expm1(row[len(NAMES) :]).sum() < np.expm1(whole[len(NAMES) :]).sum()
    np.testing.assert_allclose(rows[atoms:, WEIGHT], whole[WEIGHT], rtol=1e-5)
    assert np.isfinite(rows[:, np.isfinite(whole)]).all()


def test_what_cannot_be_computed_of_the_rest_stays_as_it_was():
    _, whole, rows = cut("C[Pt]C")
    assert np.isnan(whole[CHARGE]) and np.isfinite(rows[1, CHARGE])  # without the platinum there are charges
    whole[:] = 7.0
    molecule = Chem.MolFromSmiles("C[Pt]C")
    found = cut_descriptors(molecule, np.zeros((0, 2), int), whole, "rdkit")
    assert found[0, CHARGE] == 7.0 and found[0, WEIGHT] != 7.0


def test_nodes_in_the_order_of_the_graph():
    smiles = ["OCC", "C"]  # whose canonical form begins at the other end
    _, arrays = read_molecules(smiles)
    variants = Variants(arrays, np.array([0]), smiles)
    weights = variants.encoding("rdkit:178").values[:, WEIGHT]
    groups = [("C", 3), ("C", 2), ("O", 1)]
    elements = [Chem.GetPeriodicTable().GetElementSymbol(int(number) + 1) for number in arrays.node_feat[:3, 0]]
    assert elements == [element for element, _ in groups]
    for place, (element, hydrogens) in enumerate(groups):
        mass = Chem.GetPeriodicTable().GetAtomicWeight(element) + 1.008 * hydrogens
        assert weights[1 + place] == pytest.approx(46.069 - mass, abs=0.01)
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
    expected = np.array([18.998, 12.011 + 2 * 1.008, 35.453]) / 100
    np.testing.assert_allclose(found.atoms / deviation, expected, atol=1e-3)
