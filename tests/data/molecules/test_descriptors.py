"""The descriptors are RDKit's own, and what cannot be computed is missing."""

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from grpe_dgl.data.molecules.descriptors import MORGAN_PLACES, NAMES, descriptors, descriptors_of_smiles

MOLECULES = ["C", "CCO", "c1ccccc1C(=O)NC", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "OC(=O)c1ccccc1OC(C)=O", "FC(F)(F)Br"]


def test_the_names_are_rdkits_without_repetition():
    assert len(set(NAMES)) == len(NAMES) == 178
    assert set(NAMES) <= {name for name, _ in Descriptors.descList}


@pytest.mark.parametrize("smiles", MOLECULES)
def test_every_number_is_rdkits(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    found = dict(zip(NAMES, descriptors(molecule), strict=True))
    expected = {name: function(molecule) for name, function in Descriptors.descList if name in found}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_rdkit_cannot_compute_is_missing_alone():
    values = dict(zip(NAMES, descriptors(Chem.MolFromSmiles("C[Pt]C")), strict=True))
    assert np.isnan(values["MaxPartialCharge"]) and values["MolWt"] == pytest.approx(225.148)


def test_molecules_that_cannot_be_read_are_rows_of_nan():
    rows = descriptors_of_smiles(["CCO", "not a molecule", ""])
    assert rows.shape == (3, len(NAMES)) and rows.dtype == np.float32
    assert np.isfinite(rows[0]).all() and np.isnan(rows[1:]).all()


def test_morgan_counts_follow_the_descriptors():
    rows = descriptors_of_smiles(["CCO", "not a molecule"], "rdkit_morgan")
    assert rows.shape == (2, len(NAMES) + MORGAN_PLACES) and np.isnan(rows[1]).all()
    np.testing.assert_array_equal(rows[0, : len(NAMES)], descriptors_of_smiles(["CCO"])[0])
    # ethanol has three atoms of radius 0 and three different environments of radius 1; larger ones repeat these
    counts = np.expm1(rows[0, len(NAMES) :]).round(4)
    assert counts.sum() == 6 and set(counts) <= {0.0, 1.0, 2.0}
