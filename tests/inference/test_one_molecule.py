"""A molecule has one prediction, however its SMILES is written."""

import csv
import gzip

import numpy as np
import pytest
from rdkit import Chem, rdBase

import grpe_dgl
from grpe_dgl.data.molecules.smiles import graphs_of_smiles
from tests import trained
from tests.data.real_molecules import csv_smiles

INLINE = [
    "C[C@H](N)C(=O)O",
    "F/C=C\\C=C/Cl",
    "C[C@@H]1CC[C@H](C)CC1",
    "C[S@@](=O)c1ccccc1",
    "[O-][n+]1ccccc1[C@@](F)(Cl)Br",
    "C[N+](C)(C)CC([O-])=O.[13CH3][C@H](O)F",
    "O[C@H]1[C@@H](O)[C@H](O)[C@@H](CO)O[C@@H]1O",
    "c1cc2ccc3cccc4ccc(c1)c2c34",
    "[Cu+2].[O-]C(=O)[C@H](N)CS",
    "[2H][C@](C)(O)c1cc[nH]c1",
]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    return grpe_dgl.load(trained.save(tmp_path_factory.mktemp("one") / "x.ckpt"))


def written_at_random(smiles, seed=0):
    rdBase.SeedRandomNumberGenerator(seed)
    return [Chem.MolToSmiles(Chem.MolFromSmiles(text), doRandom=True) for text in smiles]


def test_two_ways_to_write_alanine(predictor):
    one, other = predictor.predict(["C[C@H](N)C(=O)O", "N[C@@H](C)C(=O)O"])
    mirror = predictor.predict(["C[C@@H](N)C(=O)O"])[0]
    assert one == pytest.approx(other, abs=1e-6) and one != pytest.approx(mirror, abs=1e-6)


def test_molecules_written_at_random(predictor):
    known = predictor.predict(INLINE)
    for seed in range(1, 6):
        np.testing.assert_allclose(predictor.predict(written_at_random(INLINE, seed)), known, rtol=0, atol=1e-5)
    prints = predictor.fingerprint(INLINE)
    np.testing.assert_allclose(predictor.fingerprint(written_at_random(INLINE)), prints, rtol=0, atol=1e-5)


def test_atom_map_numbers_are_no_part_of_a_molecule(predictor):
    found = predictor.predict(["C[C@H](N)C(=O)O", "[CH3:4][C@H:1]([NH2:3])[C:2](=[O:9])[OH:7]"])
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_graphs_are_equal_array_by_array():
    one, other = (graphs_of_smiles(texts, one_form=True) for texts in (INLINE, written_at_random(INLINE)))
    for name in ("num_nodes", "node_feat", "src", "dst", "edge_type"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_thousand_real_molecules_written_at_random(predictor, shared_data):
    with gzip.open(shared_data / "smiles" / "molecules_250k.csv.gz", "rt", newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)][::500]  # none has stereo
    smiles += [text for text in csv_smiles(shared_data / "raw", "lipo") if "@" in text or "/" in text][:500]
    np.testing.assert_allclose(
        predictor.predict(written_at_random(smiles)), predictor.predict(smiles), rtol=0, atol=1e-5
    )
    assert len(smiles) >= 1000
