"""The class of yes/no targets at the model's own threshold."""

import csv
import dataclasses
import io

import pytest

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from tests import trained
from tests.cli.invoke import invoke

NAMED = dataclasses.replace(trained.BINARY, positive=("yes", "1"), negative=("no", "0"))


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(invoke("predict", *arguments).stdout)))


def test_classes_follow_the_thresholds(tmp_path):
    plain = rows(trained.save(tmp_path / "plain.ckpt", NAMED), "CCO", "c1ccccc1")
    assert not any(name.startswith("predicted_") for name in plain[0])
    toxic = [float(row["probability_toxic_yes"]) for row in plain]
    between = (toxic[0] + toxic[1]) / 2
    path = tmp_path / "model.ckpt"
    dataclasses.replace(trained.checkpoint(NAMED), thresholds=(between, 0.999)).save(path)
    found = rows(path, "CCO", "C(", "c1ccccc1")
    assert [row["predicted_toxic"] for row in found if not row["error"]] == [
        "yes" if x > between else "no" for x in toxic
    ]
    assert [row["predicted_soluble"] for row in found] == ["0", "", "0"]
    assert load_checkpoint(path).thresholds == (between, 0.999)


def test_damaged_thresholds(tmp_path):
    path = tmp_path / "model.ckpt"
    dataclasses.replace(trained.checkpoint(NAMED), thresholds=(0.5,)).save(path)
    with pytest.raises(InputError, match="thresholds are not a number between 0 and 1 for each target"):
        load_checkpoint(path)
