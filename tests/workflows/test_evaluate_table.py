"""A model measured on a table is measured as on the dataset of that table."""

import dataclasses
import json

import numpy as np
import pytest

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.identity import DataIdentity, graph_hashes
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.errors import InputError
from grpe_dgl.workflows.evaluate_table import evaluate_table
from tests import trained
from tests.cli.invoke import grpe_in

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCCO"]


@pytest.fixture
def table(tmp_path):
    cells = zip(
        SMILES, ["-1.5", "", "0.25", "-3", "2"], ["1", "0", "0", "1", ""], ["0", "1", "", "0", "1"], strict=True
    )
    rows = "".join(f"{smiles};{a};{b};{c};blue\n" for smiles, a, b, c in cells)
    (tmp_path / "t.csv").write_text("SMILES;logS;toxic;soluble;colour\n" + rows + "C(;1;1;1;red\n")
    return tmp_path / "t.csv"


def test_regression_against_numpy(table):
    checkpoint = trained.checkpoint()
    with pytest.warns(UserWarning, match=r"1 row left out: row 5: 'C\(' cannot be read"):
        found = evaluate_table(checkpoint, table, metrics=("rmse", "mae"))
    truth = np.array([-1.5, np.nan, 0.25, -3, 2])
    errors = found.predictions[:, 0].numpy() - truth
    assert found.graphs == 5 and found.labels == 4
    assert found.metrics["rmse"] == pytest.approx(np.sqrt(np.nanmean(errors**2)), rel=1e-5)
    assert found.metrics["mae"] == pytest.approx(np.nanmean(np.abs(errors)), rel=1e-5)


def test_several_targets_and_classes_from_the_command_line(table):
    folder = table.parent
    binary = dataclasses.replace(trained.checkpoint(trained.BINARY), thresholds=(0.4, 0.6))
    binary.save(folder / "binary.ckpt")
    trained.save(folder / "classes.ckpt", trained.CLASSES)
    output = grpe_in(folder, "evaluate", "binary.ckpt", "t.csv", "--metric", "rocauc", "--metric", "f1")
    assert "t.csv all rows (8 labels of 5 graphs): rocauc" in output and "toxic: rocauc" in output
    assert "yes from the probability 0.4, 0.6 (chosen on valid)" in output and "row 5: 'C('" in output
    found = grpe_in(folder, "evaluate", "classes.ckpt", "t.csv", "--json").splitlines()[-1]
    assert json.loads(found)["labels"] == 5 and 0 <= json.loads(found)["accuracy"] <= 1
    for words, message in (
        (("--split", "test"), "--split goes with a dataset, not with TABLE"),
        (("--dataset", "x"), "--dataset goes with a dataset"),
    ):
        assert message in grpe_in(folder, "evaluate", "classes.ckpt", "t.csv", *words, code=2)
    assert "--smiles goes with TABLE" in grpe_in(folder, "evaluate", "classes.ckpt", "--smiles", "x", code=2)


def test_labels_that_are_not_the_models(table):
    wrong = table.with_name("wrong.csv")
    wrong.write_text("smiles,logS,colour\nCCO,<5,pink\n")
    with pytest.raises(
        InputError, match="column 'logS': '<5' is a bound .*; accepted: a number with a decimal point, or"
    ):
        evaluate_table(trained.checkpoint(), wrong)
    with pytest.raises(
        InputError, match="'pink' is none of the model's classes, red, green, blue; accepted: a class of"
    ):
        evaluate_table(trained.checkpoint(trained.CLASSES), wrong)
    wrong.write_text("smiles,logS\nCCO,\n")
    with pytest.raises(InputError, match="has no label in 'logS'"):
        evaluate_table(trained.checkpoint(), wrong)


def test_training_molecules_are_refused(table, tmp_path):
    _, arrays = read_molecules(["OCC", "CCCl"])
    identity = DataIdentity({}, np.sort(graph_hashes(arrays, np.arange(2))))
    dataclasses.replace(trained.checkpoint(), data_identity=identity).save(tmp_path / "x.ckpt")
    output = grpe_in(tmp_path, "evaluate", "x.ckpt", "t.csv", code=1)
    assert "1 of the 5 molecules of t.csv are among the training molecules" in " ".join(output.split())
    assert "--allow-overlap measures it all the same" in " ".join(output.split())
    assert load_checkpoint(tmp_path / "x.ckpt").data_identity is not None
    assert "rmse" in grpe_in(tmp_path, "evaluate", "x.ckpt", "t.csv", "--allow-overlap")


def test_all_bad_labels_are_listed(table):
    folder = table.parent
    trained.save(folder / "binary.ckpt", trained.BINARY)
    (folder / "wrong.csv").write_text("smiles,toxic,soluble\n" + "CCO,2,yes\nCC,1,0\n" * 6)
    output = grpe_in(folder, "evaluate", "binary.ckpt", "wrong.csv", code=1)
    assert "12 labels cannot be used" in output and "row 0 (line 2), column 'toxic': '2' is neither 0 nor 1" in output
    assert "and 2 more; all are listed in wrong_bad_labels.csv" in output and output.endswith("make them blank\n")
    assert len((folder / "wrong_bad_labels.csv").read_text().splitlines()) == 13


def test_the_mean_of_several_models_is_measured(table):
    folder = table.parent
    for seed in (0, 1):
        (folder / f"fold-{seed + 1}").mkdir()
        trained.save(folder / f"fold-{seed + 1}" / "best.ckpt", seed=seed)
        (folder / f"fold-{seed + 1}" / "results.json").write_text("{}")
    output = grpe_in(folder, "evaluate", "fold-1", "fold-2/best.ckpt", "t.csv", "--metric", "rmse")
    assert "mean of 2 models\nt.csv all rows (4 labels of 5 graphs): rmse" in output
    assert output == grpe_in(folder, "evaluate", ".", "t.csv", "--metric", "rmse")
    each = [load_checkpoint(folder / f"fold-{number}/best.ckpt") for number in (1, 2)]
    with pytest.warns(UserWarning):
        means = [evaluate_table(one, table).predictions.numpy() for one in each]
    errors = np.mean(means, 0)[:, 0] - [-1.5, np.nan, 0.25, -3, 2]
    found = json.loads(grpe_in(folder, "evaluate", ".", "t.csv", "--json").splitlines()[-1])
    assert found["rmse"] == pytest.approx(np.sqrt(np.nanmean(errors**2)), rel=1e-5)
    assert "2 models; accepted on a split: one of them" in grpe_in(folder, "evaluate", ".", code=2)
