import numpy as np
import pytest

from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.atom_order import given_molecule

SMILES = [
    "OC(=O)[C@H](C)N", "F/C=C/Cl", "[CH3:2][OH:7]", "O=C(O)c1ccccc1OC(C)=O", "C[NH3+].[Cl-]", "[Na+].[O-]C(=O)C",
    "Cl.C[C@@H](N)C(=O)O", "[2H]C", "C1CC2CC1CC2N",
]  # fmt: skip


@pytest.mark.parametrize("standardised", [False, True])
def test_every_node_is_the_atom_of_its_element_and_every_edge_a_bond(standardised):
    errors, arrays = read_molecules(SMILES, standardised=standardised)
    assert errors == [None] * len(SMILES)
    for graph, smiles in enumerate(SMILES):
        molecule, order = given_molecule(smiles, standardised=standardised)
        nodes = slice(arrays.node_offsets[graph], arrays.node_offsets[graph + 1])
        edges = slice(arrays.edge_offsets[graph], arrays.edge_offsets[graph + 1])
        assert len(set(order)) == len(order) == nodes.stop - nodes.start
        if not (standardised and "." in smiles):
            assert len(order) == molecule.GetNumAtoms()
        if standardised and ("+" in smiles or "-" in smiles):
            continue  # where the standard form has other hydrogens, atoms have other degrees
        found = [(a.GetAtomicNum() - 1, a.GetTotalDegree()) for a in (molecule.GetAtomWithIdx(i) for i in order)]
        np.testing.assert_array_equal(found, arrays.node_feat[nodes][:, [0, 2]])
        ends = zip(arrays.src[edges], arrays.dst[edges], strict=True)
        assert all(molecule.GetBondBetweenAtoms(order[u], order[v]) is not None for u, v in ends)


def test_the_order_is_that_of_the_smiles_as_given():
    molecule, order = given_molecule("OCC")  # its canonical form is CCO
    assert molecule.GetAtomWithIdx(0).GetSymbol() == "O" and order == [2, 1, 0]
