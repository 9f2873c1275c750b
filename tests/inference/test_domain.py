import csv
import dataclasses
import io

import numpy as np
import pytest

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.domain import TrainingDomain
from grpe_dgl.data.molecules.morgan import morgan_fingerprints
from tests import trained
from tests.cli.invoke import invoke


def domain(*smiles):
    return TrainingDomain(morgan_fingerprints(smiles)[0], len(smiles), frozenset({5, 7}), (1, 5), frozenset({0}))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.ckpt"
    dataclasses.replace(trained.checkpoint(), domain=domain("CCO", "c1ccccc1")).save(path)
    return path


def rows(*arguments):
    result = invoke("predict", *arguments)
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout))), result.stderr


def test_columns(model, tmp_path):
    (tmp_path / "t.csv").write_text("smiles\nOCC\nC(\nCCS\nC[NH3+]\n")
    found, said = rows(model, tmp_path / "t.csv", "--domain")
    assert list(found[0])[-5:] == ["nearest_similarity", "unseen_element", "unseen_size", "unseen_charge", "error"]
    assert [float(row["nearest_similarity"]) for row in (found[0],)] == [1.0]
    assert [row["unseen_element"] for row in found] == ["0", "", "1", "1"]
    assert [row["unseen_charge"] for row in found] == ["0", "", "0", "1"]
    assert "domain: 2 training molecules of 1 to 5 atoms" in said
    without, _ = rows(model, tmp_path / "t.csv")
    assert [row["predicted_logS"] for row in found] == [row["predicted_logS"] for row in without]


def test_several_models_are_compared_together(model, tmp_path):
    other = tmp_path / "other.ckpt"
    dataclasses.replace(trained.checkpoint(seed=1), domain=domain("CCCCCC")).save(other)
    found, _ = rows(model, other, "CCCCCC", "OCC", "--domain")
    assert [row["nearest_similarity"] for row in found] == ["1", "1"]
    both = TrainingDomain.union([domain("CCO", "CCN"), domain("CCO", "CCC")])
    assert both.molecules == len(both.fingerprints) == 3


def test_a_model_that_records_no_training_molecules(tmp_path):
    result = invoke("predict", trained.save(tmp_path / "old.ckpt"), "CCO", "--domain")
    assert result.exit_code == 1 and "old.ckpt does not record its training molecules: it was written" in result.stderr


def test_a_checkpoint_keeps_it(model):
    np.testing.assert_array_equal(load_checkpoint(model).domain.fingerprints, domain("CCO", "c1ccccc1").fingerprints)
