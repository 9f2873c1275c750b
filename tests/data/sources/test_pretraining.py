"""Molecules without labels get their descriptors as targets, clipped and standardised."""

import gzip

import numpy as np
import pytest

from grpe_dgl.data.molecules.descriptors import NAMES, descriptors_of_smiles
from grpe_dgl.data.sources.pretraining import Limits, PretrainingRequest, pretraining_source
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError

SMILES = [f"{'C' * (1 + i % 9)}{tail}" for i in range(27) for tail in ("O", "N", "c1ccccc1", "C(=O)O")][:100]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables").mkdir()
    with gzip.open(tmp_path / "tables" / "a.csv.gz", "wt") as file:
        file.write("id,smiles\n" + "".join(f"{i},{smiles}\n" for i, smiles in enumerate(SMILES[:60])))
    (tmp_path / "tables" / "b.smi").write_text("".join(f"{smiles} name\n" for smiles in SMILES[60:]) + "oops\nC[Pt]C\n")
    (tmp_path / "tables" / "notes.md").write_text("no table")
    return tmp_path


def test_a_folder_of_tables_becomes_one_dataset(folder):
    request = PretrainingRequest(files=(folder / "tables",), quantile=0.05, valid=0.1)
    source, notes = pretraining_source(request)
    manifest = preprocess(source, folder / "data")
    store = Store(folder / "data")
    assert (manifest.num_rows, manifest.num_graphs, manifest.splits) == (102, 101, {"train": 90, "valid": 11})
    assert "b.smi, line 41: 'oops'" in (folder / "data" / "skipped.csv").read_text()
    targets = store.schema.task.targets
    assert (
        len(targets) < len(NAMES)
        and f"{len(targets)} RDKit descriptors" in notes[0]
        and "left out, as nearly" in notes[1]
    )
    expected = descriptors_of_smiles([*SMILES, "C[Pt]C"])
    low, high = np.nanquantile(expected, [0.05, 0.95], axis=0)
    columns = [NAMES.index(name) for name in targets]
    np.testing.assert_allclose(store.label, np.clip(expected, low, high)[:, columns], rtol=1e-5)
    assert np.isnan(store.label[-1]).any()  # RDKit has no partial charges for platinum
    train = np.asarray(store.label)[store.splits["train"]]
    np.testing.assert_allclose(store.schema.target_scale[0], np.nanmean(train, 0), rtol=1e-4, atol=1e-6)


def test_targets_whose_quantiles_coincide_are_left_out():
    values = np.array([[1.0, 5.0, np.nan, 0.0]] * 99 + [[2.0, 5.0, np.nan, 9.0]], np.float32)
    values[:50, 0] = 0
    limits = Limits.of(values, 0.02)
    assert limits.columns.tolist() == [0] and (limits.low[0], limits.high[0]) == (0, 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["empty"], "holds no table"),
        (["named.csv"], "has no column 'smiles'"),
        (["blank.csv"], "there are no rows"),
        (["same.csv"], "no descriptor differs between 2 molecules"),
    ],
)
def test_what_cannot_be_used(tmp_path, files, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "named.csv").write_text("molecule\nCCO\n")
    (tmp_path / "blank.csv").write_text("smiles\n")
    (tmp_path / "same.csv").write_text("smiles\nCCO\nOCC\n")
    with pytest.raises(InputError, match=message):
        pretraining_source(PretrainingRequest(files=tuple(tmp_path / name for name in files)))
