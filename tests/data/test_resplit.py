import numpy as np
import pytest

import grpe_dgl.data
from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.data.resplit import resplit
from tests.training.tiny import write_dataset


def test_other_splits_have_their_own_statistics_and_identity(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "regression"))
    before = data.schema.target_mean
    index = np.arange(20, 28)
    other = resplit(data, {"train": index, "valid": np.array([3]), "test": np.zeros(0, np.int64)})
    label = np.asarray(data.store.label)[index]
    assert other.schema.target_mean == pytest.approx(tuple(label.mean(0, np.float64)))
    assert other.schema.target_deviation == pytest.approx(tuple(label.std(0, dtype=np.float64)))
    assert other.train.index.tolist() == index.tolist() and len(other.valid) == 1 and len(other.test) == 0
    assert data.schema.target_mean == before and len(data.train) == 20
    differences = DataIdentity.of(data.store).differences(DataIdentity.of(other.store))
    assert differences == ["the splits test, train, valid"]
    same = resplit(data, {name: split.index for name, split in data.splits.items()})
    assert same.schema.target_mean == pytest.approx(before)


def test_classes_have_no_statistics(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "binary"))
    assert resplit(data, {"train": np.arange(4)}).schema.target_mean is None
