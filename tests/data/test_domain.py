import numpy as np
import pytest
import torch
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from grpe_dgl.data.domain import COLUMNS, TrainingDomain
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.morgan import morgan_fingerprints
from grpe_dgl.data.molecules.nearest import Neighbours
from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.store.store import Store

TRAIN = ["CCO", "CCN", "CC(=O)O", "c1ccccc1O", "CC(C)CC(=O)[O-]", "C[N+](=O)[O-]"]


def compare(domain, smiles):
    errors, arrays = read_molecules(smiles)
    assert errors == [None] * len(smiles)
    return domain.compare(smiles, arrays, np.arange(len(smiles)), standardised=False)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "t.csv").write_text("smiles,y\n" + "".join(f"{s},{i}.5\n" for i, s in enumerate(TRAIN)))
    source, _ = csv_source(CSVRequest(file=tmp_path / "t.csv", targets=("y",), fractions=(1, 0, 0)))
    preprocess(source, tmp_path / "d")
    return Store(tmp_path / "d")


def test_nearest_similarity_is_rdkits():
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    known = [*TRAIN, "CCCCCCCC", "c1ccc2ccccc2c1", "OCC(O)C(O)CO", "C", "CC(C)(C)c1ccc(O)cc1"]
    asked = ["CCCO", "c1ccccc1N", "CCO", "FC(F)(F)c1ccccc1", "CCCCCCCCC", "[He]"]
    rdkit = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in known]
    expected = [
        max(DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(smiles)), rdkit))
        for smiles in asked
    ]
    bits, readable = morgan_fingerprints([*asked, "C("])
    assert readable.tolist() == [True] * 6 + [False] and not bits[-1].any()
    found = Neighbours(morgan_fingerprints(known)[0]).similarity(bits[:-1])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert 0 < found[0] < 1 == found[2]


def test_random_fingerprints_against_a_plain_loop():
    generator = np.random.default_rng(0)
    density = generator.uniform(0, 0.1, (41, 1, 1))
    bits = generator.random((41, 32, 64)) < density
    bits[:3] = False
    words = np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)[..., 0]
    known, asked = words[1::2], words[::2]
    flat = bits.reshape(41, -1)
    expected = []
    for a in flat[::2]:
        both = [(a & b).sum() / max(1, (a | b).sum()) if (a | b).any() else 1.0 for b in flat[1::2]]
        expected.append(max(both))
    np.testing.assert_allclose(Neighbours(known).similarity(asked), expected, atol=1e-6)


def test_what_training_has_not_seen(store):
    domain = TrainingDomain.of(store)
    assert (domain.molecules, domain.sizes, domain.charges) == (6, (3, 7), frozenset({0, -1}))
    values = compare(domain, ["OCC", "CCS", "CCCCCCCC", "C", "C[NH3+]", "CC(=O)[O-]"])
    assert COLUMNS == ("nearest_similarity", "unseen_element", "unseen_size", "unseen_charge")
    np.testing.assert_array_equal(values[:, 1:], [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    assert values[0, 0] == 1 and (values[1:, 0] < 1).all()


def test_stored_and_joined(store):
    domain = TrainingDomain.of(store)
    plain = domain.to_dict()
    assert torch.is_tensor(plain["fingerprints"])
    again = TrainingDomain.from_dict(plain)
    np.testing.assert_array_equal(again.fingerprints, domain.fingerprints)
    assert (again.elements, again.sizes, again.charges) == (domain.elements, domain.sizes, domain.charges)
    other = TrainingDomain(domain.fingerprints[:1], 1, frozenset({15}), (1, 2), frozenset({1}))
    joined = TrainingDomain.union([domain, other])
    assert len(joined.fingerprints) == 6 and joined.sizes == (1, 7) and joined.charges == {0, -1, 1}
    for key, value in (("fingerprints", torch.zeros(3)), ("sizes", [1]), ("elements", "CNO"), ("molecules", None)):
        with pytest.raises(ValueError, match="domain"):
            TrainingDomain.from_dict({**plain, key: value})


def test_many_training_molecules_are_sampled(store, monkeypatch):
    monkeypatch.setattr("grpe_dgl.data.domain.MAX_FINGERPRINTS", 2)
    domain = TrainingDomain.of(store)
    assert len(domain.fingerprints) == 2 and domain.molecules == 6 and domain.sizes == (3, 7)
