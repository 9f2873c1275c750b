import pytest
from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.canonical import canonicalise
from grpe_dgl.data.molecules.plain_smiles import molecule_of_smiles
from tests.data.molecules.test_smiles import UNUSUAL
from tests.data.real_molecules import csv_smiles


def forms(smiles, read):
    """The binary and the SMILES of a molecule and of its canonical form; None if it cannot be read."""
    molecule = read(smiles)
    if molecule is None:
        return None
    canonical, text = canonicalise(molecule, smiles, read)
    return molecule.ToBinary(0), canonical.ToBinary(0), text


@pytest.mark.parametrize(
    "smiles",
    [
        *UNUSUAL,
        "",
        "CC(C)(C)(C)C",
        "c1cccc1",
        "C(",
        "CCO ethanol",
        "[H]C",
        "[#1]C",
        "[2H]C",
        "C1CC1C2CC2",
        "CC=CC",
        "CC(F)Cl",
    ],
)
def test_gives_what_rdkit_does(smiles):
    with BlockLogs():
        assert forms(smiles, molecule_of_smiles) == forms(smiles, Chem.MolFromSmiles)


def test_real_molecules_however_they_are_written(shared_raw):
    with BlockLogs():
        for smiles in csv_smiles(shared_raw, "tox21")[:700]:
            molecule = Chem.MolFromSmiles(smiles)
            for text in [smiles] if molecule is None else [smiles, Chem.MolToSmiles(molecule, doRandom=True)]:
                assert forms(text, molecule_of_smiles) == forms(text, Chem.MolFromSmiles)
