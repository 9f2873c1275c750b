import dataclasses
import json
import os

import pytest
import torch
from click.testing import CliRunner

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl_cli.main import main
from tests import trained
from tests.training.tiny import recipe, write_dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """data/tiny (regression), data/three (binary), tiny.yaml and a model of the first in first/best.ckpt."""
    folder = tmp_path_factory.mktemp("finetune")
    write_dataset(folder / "data" / "tiny", "regression")
    write_dataset(folder / "data" / "three", "binary")
    (folder / "tiny.yaml").write_text(recipe(training__epochs=2).to_yaml())
    (folder / "any.yaml").write_text(recipe(dataset=None, training__epochs=2, model__dropout=0.25).to_yaml())
    grpe(folder, "train", "tiny.yaml", "--out", "first")
    return folder


def grpe(folder, *words, code=0):
    home = os.getcwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, [str(word) for word in words])
    finally:
        os.chdir(home)
    assert result.exit_code == code, result.output
    return result.output


def test_a_folder_takes_the_recipe_for_own_data(folder):
    output = grpe(folder, "finetune", "--from", "first/best.ckpt", "data/three", "--epochs", 2, "--freeze-encoder",
                  "--out", "second")  # fmt: skip
    assert "warm-up: 0 epochs instead of 5, as --epochs is 2" in output
    assert "carried from first/best.ckpt (tiny): " in output and "new: head (3 wide)" in output
    assert "only the head is trained" in output
    source, saved = load_checkpoint(folder / "first/best.ckpt"), load_checkpoint(folder / "second/best.ckpt")
    assert saved.recipe.start_from == "first/best.ckpt" and saved.recipe.training.freeze_encoder
    assert saved.recipe.model.hidden_size == 16 and saved.recipe.model.dropout == 0.1  # the recipe's, not the model's
    assert saved.provenance["dataset"] == "tiny" and saved.provenance["fresh"] == ["head (3 wide)"]
    for name, tensor in source.weights.items():
        assert name.startswith("head.") or torch.equal(saved.weights[name], tensor), name
    said = grpe(folder, "info", "second/best.ckpt")
    assert "started from  first/best.ckpt, a model of tiny" in said


def test_a_recipe_with_another_distance(folder):
    output = grpe(folder, "finetune", "--from", "first/best.ckpt", "any.yaml", "--dataset", "three",
                  "--set", "model.max_distance=7", "--out", "third")  # fmt: skip
    assert "distances 6 to 7 in every table" in output
    saved = load_checkpoint(folder / "third/best.ckpt")
    assert saved.recipe.model.max_distance == 7 and saved.recipe.model.dropout == 0.25
    again = grpe(folder, "finetune", "--from", "first/best.ckpt", "any.yaml", "--dataset", "three",
                 "--set", "model.max_distance=7", "--out", "third", code=1)  # fmt: skip
    assert "third exists already" in again


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["any.yaml"], 2, "say which with --dataset NAME"),
        (["tiny.yaml", "--dataset", "three"], 2, "is for the dataset tiny; --dataset is three"),
        (["zinc_components"], 2, "has variants"),
        (["nowhere"], 1, "there is no dataset 'nowhere'"),
        (
            ["data/three", "--set", "model.hidden_size=32"],
            1,
            "model.hidden_size is 16 in first/best.ckpt, 32 was asked",
        ),
    ],
)
def test_errors(folder, arguments, code, message):
    output = grpe(folder, "finetune", "--from", "first/best.ckpt", *arguments, "--out", "never", code=code)
    assert message in output and not (folder / "never").exists()


def test_the_full_name_of_a_dataset_has_its_recipe(folder, tmp_path):
    model = trained.save(tmp_path / "molecules.ckpt")
    for name in ("molhiv", "ogbg-molhiv"):
        output = grpe(folder, "finetune", "--from", model, name, "--set", "training.epochs=3", "--out", "x", code=1)
        assert "Error: molhiv: training.warmup_epochs is 3" in output


def test_resume(folder):
    words = ("finetune", "--from", "first/best.ckpt", "any.yaml", "--dataset", "three", "--out", "again")
    grpe(folder, *words, "--set", "training.epochs=3")
    last = load_checkpoint(folder / "again" / "last.ckpt")
    os.remove(folder / "again" / "results.json")
    grpe(folder, *words, "--set", "training.epochs=3", "--resume")
    for name, weight in load_checkpoint(folder / "again" / "last.ckpt").weights.items():
        assert torch.equal(weight, last.weights[name])
    said = grpe(folder, "info", "again/last.ckpt")
    assert "yes, with grpe finetune --resume" in said and "started anew  head" in said


def test_data_that_does_not_fit(folder, tmp_path):
    model = trained.save(tmp_path / "molecules.ckpt")
    output = grpe(folder, "finetune", "--from", model, "data/three", "--out", "never", code=1)
    assert "vocabulary is 'ogb' for the model, 'custom' there" in output


def test_info_of_a_checkpoint(folder):
    said = grpe(folder, "info", "first/best.ckpt")
    assert "2 layers of 16, FFN 16, 2 heads, max_distance 5, key_term neighbour" in said
    assert "regression per graph: level" in said and "standardised by mean" in said and "valid_mae" in said
    content = json.loads(grpe(folder, "info", "first/last.ckpt", "--json"))
    assert content["resumable"] and content["recipe"]["model"]["layers"] == 2 and content["parameters"] > 1000
    assert "goes with a dataset" in grpe(folder, "info", "first/best.ckpt", "--verify", code=2)
    assert "did you mean first/best.ckpt?" in grpe(folder, "info", "first", code=1)
    assert "none.ckpt: there is no such dataset or checkpoint" in grpe(folder, "info", "none.ckpt", code=1)
    lost = load_checkpoint(folder / "first/best.ckpt")
    dataclasses.replace(lost, metrics={"valid_mae": float("nan")}).save(folder / "nan.ckpt")
    assert (
        json.loads(grpe(folder, "info", "nan.ckpt", "--json"), parse_constant=pytest.fail)["metrics"]["valid_mae"]
        is None
    )
    assert "is not a checkpoint" in grpe(folder, "info", "tiny.yaml", code=1)
