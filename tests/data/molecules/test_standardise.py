import pytest
from rdkit import Chem

from grpe_dgl.data.molecules.smiles import canonical, graphs_of_smiles
from grpe_dgl.data.molecules.standardise import standardise


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CC(=O)[O-].[Na+]", "CC(=O)O"),
        ("Cl.CCN", "CCN"),
        ("C[NH3+]", "CN"),
        ("C[N+](C)(C)C.[Br-]", "C[N+](C)(C)C"),
        ("C[N+](=O)[O-]", "C[N+](=O)[O-]"),
        ("[NH3+][C@@H](C)C(=O)[O-]", "N[C@@H](C)C(=O)O"),
        ("[Na+].[Cl-]", "Cl"),
        ("CC[O:7].Cl", "CC[O]"),
        ("c1ccccc1", "c1ccccc1"),
    ],
)
def test_largest_fragment_without_charges(smiles, expected):
    molecule, text = standardise(Chem.MolFromSmiles(smiles), smiles)
    assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(expected) == Chem.CanonSmiles(text)
    assert canonical(smiles, standardised=True) == Chem.CanonSmiles(expected)


def test_graphs_are_those_of_the_standard_form():
    given = ["CC(=O)[O-].[Na+]", "OC(C)=O", "C("]
    salts = graphs_of_smiles(given, one_form=True, standardised=True, structure_key=True)
    plain = graphs_of_smiles(["CC(=O)O", "CC(=O)O"], one_form=True, structure_key=True)
    assert (salts.node_feat == plain.node_feat).all() and (salts.key == plain.key).all()
    assert salts.smiles == tuple(given[:2]) and [skip.row for skip in salts.skipped] == [2]
    as_given = graphs_of_smiles(given[:1], one_form=True)
    assert as_given.num_nodes.tolist() == [5]
