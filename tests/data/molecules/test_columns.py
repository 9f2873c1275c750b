import numpy as np
import pytest
from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules import columns as module
from grpe_dgl.data.molecules.binary import read_binary
from grpe_dgl.data.molecules.columns import MoleculeColumns
from tests.data.molecules.test_smiles import UNUSUAL
from tests.data.real_molecules import csv_smiles, molhiv_smiles

MORE = [
    "C" * 255,
    "C" * 256,
    "C" * 300 + "1CCCCC1",
    "[13CH4]",
    "[238U]",
    "[CH2]",
    "[Fe+3]",
    "[S-2]",
    "C1CC2CCC1CC2",
    "[Cl-].[K+].C[N+](C)(C)C",
    "C/C(F)=C(/Br)Cl",
    "[H]O[H]",
    "C[Si@](F)(Cl)Br",
    "*" + "(C)" * 260 + "C",
]


def both(molecule):
    """The columns from the binary form, or by asking where it is refused, and the columns by asking alone."""
    read, asked = MoleculeColumns.new(1_000), MoleculeColumns(None)
    read.add(molecule)
    asked.add(molecule)
    return read, asked


def assert_alike(read, asked):
    for one, other in zip((read.node_feat(), *read.edges()), (asked.node_feat(), *asked.edges()), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("smiles", UNUSUAL + MORE)
def test_the_binary_form_gives_what_atoms_and_bonds_return(smiles):
    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or smiles == "C[Pt@SP1](F)(Cl)N":
        pytest.skip("RDKit or OGB has no such molecule")
    assert_alike(*both(molecule))


def test_this_rdkit_is_read_from_its_binary_form():
    assert both(Chem.MolFromSmiles("CC(=O)Nc1ccc(O)cc1"))[0].asked == 0


@pytest.mark.parametrize("smiles", ["C[*]", "[CH3:1]O", "C~C"])
def test_what_the_binary_form_does_not_explain_is_asked(smiles):
    read, asked = both(Chem.MolFromSmiles(smiles))
    assert read.asked == 1
    assert_alike(read, asked)


def test_query_atoms_are_asked():
    molecule = Chem.MolFromSmarts("[C,N]-[#8]")
    molecule.UpdatePropertyCache(strict=False)
    Chem.GetSymmSSSR(molecule)
    read, asked = both(molecule)
    assert read.asked == 1
    assert_alike(read, asked)


def test_real_molecules(shared_raw):
    read, asked = MoleculeColumns.new(1_000), MoleculeColumns(None)
    with BlockLogs():
        for smiles in [*csv_smiles(shared_raw, "tox21")[:1500], *molhiv_smiles(shared_raw, 30)]:
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is not None:
                read.add(molecule)
                asked.add(molecule)
    assert read.asked == 0
    assert_alike(read, asked)


def test_damaged_data_is_refused_without_reading_beyond_it():
    molecule = Chem.MolFromSmiles("F/C=C/C[C@H](N)c1ccc([O-])cc1")
    data = np.frombuffer(molecule.ToBinary(0), np.uint8)
    n, m = molecule.GetNumAtoms(), molecule.GetNumBonds()
    codes = module._codes_by_byte()
    end = len(data) - 10  # after the rings: not read

    def understood(part):
        feat, edges = np.zeros((n, 9), np.int16), np.zeros((3, m), np.int64)
        done = read_binary(part, codes, feat, edges, 0, 0, n, m)
        assert (edges[:2] < n).all() and (edges >= 0).all()
        return done

    assert understood(data)
    assert not any(understood(data[:length].copy()) for length in range(end))
    generator = np.random.default_rng(0)
    for _ in range(2000):
        damaged = data.copy()
        damaged[generator.integers(len(data), size=3)] = generator.integers(256, size=3)
        understood(damaged)


def test_another_binary_form_is_not_used(monkeypatch):
    module._codes_by_byte.cache_clear()
    monkeypatch.setattr(module, "read_binary", lambda *arguments: True)  # as one that reads other numbers
    try:
        assert module._codes_by_byte() is None
    finally:
        module._codes_by_byte.cache_clear()
