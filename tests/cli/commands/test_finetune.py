import json
import os

import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from tests import trained
from tests.cli.invoke import grpe_in
from tests.training.tiny import recipe

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(folder):
    """The shared folder, with a model of data/tiny in first/best.ckpt and other.yaml for any dataset."""
    (folder / "other.yaml").write_text(recipe(dataset=None, training__epochs=2, model__dropout=0.25).to_yaml())
    grpe_in(folder, "train", "tiny.yaml", "--epochs", 2, "--out", "first")
    return folder


def test_a_folder_takes_the_recipe_for_own_data(models):
    output = grpe_in(models, "finetune", "--from", "first/best.ckpt", "data/three", "--epochs", 2, "--freeze-encoder",
                  "--out", "second")  # fmt: skip
    assert "warm-up: 0 epochs instead of 3, as --epochs is 2" in output
    assert "transferred from first/best.ckpt (tiny): " in output and "new: head (128, 3 wide)" in output
    assert "only the head is trained" in output
    source, saved = load_checkpoint(models / "first/best.ckpt"), load_checkpoint(models / "second/best.ckpt")
    assert saved.recipe.start_from == "first/best.ckpt" and saved.recipe.training.freeze_encoder
    assert saved.recipe.model.hidden_size == 16 and saved.recipe.model.dropout == 0.1  # the recipe's, not the model's
    assert saved.provenance["dataset"] == "tiny" and saved.provenance["fresh"] == ["head (128, 3 wide)"]
    for name, tensor in source.weights.items():
        assert name.startswith("head.") or torch.equal(saved.weights[name], tensor), name
    said = grpe_in(models, "info", "second/best.ckpt")
    assert "started from  first/best.ckpt, a model of tiny" in said


def test_a_recipe_with_another_distance(models):
    output = grpe_in(models, "finetune", "--from", "first/best.ckpt", "other.yaml", "--dataset", "three",
                  "--set", "model.max_distance=7", "--out", "third")  # fmt: skip
    assert "distances 6 to 7 in every table" in output
    saved = load_checkpoint(models / "third/best.ckpt")
    assert saved.recipe.model.max_distance == 7 and saved.recipe.model.dropout == 0.25
    again = grpe_in(models, "finetune", "--from", "first/best.ckpt", "other.yaml", "--dataset", "three",
                 "--set", "model.max_distance=7", "--out", "third", code=1)  # fmt: skip
    assert "third exists already" in again


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["other.yaml"], 2, "choose one with --dataset NAME"),
        (["tiny.yaml", "--dataset", "three"], 2, "is for the dataset tiny; --dataset is three"),
        (["zinc_components"], 2, "has variants: choose one with --variant NAME (none, topology, edge, value, topol"),
        (["zinc_components", "--variant", "edgy"], 2, "--variant: 'edgy' is not a variant of the recipe (did you mean"),
        (["data/three", "--variant", "a"], 2, "accepted: none, it has no variants"),
        (["data/three", "--transfer", "some"], 2, "'some' is not one of 'all', 'transformer'"),
        (
            ["data/three", "--transfer", "transformer", "--freeze-encoder"],
            1,
            "training.transfer is 'transformer'; accepted: all, as training.freeze_encoder is true",
        ),
        (["nowhere"], 1, "there is no dataset 'nowhere'"),
        (
            ["data/three", "--set", "model.hidden_size=32"],
            1,
            "model.hidden_size is 16 in first/best.ckpt, 32 was asked",
        ),
    ],
)
def test_errors(models, arguments, code, message):
    output = grpe_in(models, "finetune", "--from", "first/best.ckpt", *arguments, "--out", "never", code=code)
    assert message in output and not (models / "never").exists()


def test_the_full_name_of_a_dataset_has_its_recipe(models, tmp_path):
    model = trained.save(tmp_path / "molecules.ckpt")
    for name in ("molhiv", "ogbg-molhiv"):
        output = grpe_in(models, "finetune", "--from", model, name, "--set", "training.epochs=3", "--out", "x", code=1)
        assert "Error: molhiv: training.warmup_epochs is 3" in output


def test_resume(models):
    words = ("finetune", "--from", "first/best.ckpt", "other.yaml", "--dataset", "three", "--out", "again")
    grpe_in(models, *words, "--set", "training.epochs=3")
    last = load_checkpoint(models / "again" / "last.ckpt")
    os.remove(models / "again" / "results.json")
    grpe_in(models, *words, "--set", "training.epochs=3", "--resume")
    for name, weight in load_checkpoint(models / "again" / "last.ckpt").weights.items():
        assert torch.equal(weight, last.weights[name])
    said = grpe_in(models, "info", "again/last.ckpt")
    assert "yes, with grpe finetune --resume" in said and "new           head" in said


def test_data_that_does_not_fit(models, tmp_path):
    model = trained.save(tmp_path / "molecules.ckpt")
    output = grpe_in(models, "finetune", "--from", model, "data/three", "--out", "never", code=1)
    assert "vocabulary is 'ogb' for the model, 'custom' there; --transfer transformer takes everything but" in output
    output = grpe_in(models, "finetune", "--from", model, "data/three", "--transfer", "transformer", "--epochs", 1,
                     "--out", "crossed")  # fmt: skip
    assert "new: head (128, 3 wide), embeddings of nodes and edges (4 tensors)" in output
    source, saved = load_checkpoint(model), load_checkpoint(models / "crossed/best.ckpt")
    assert saved.recipe.training.transfer == "transformer" and saved.schema.vocabulary == "custom"
    assert saved.weights["final_norm.weight"].shape == source.weights["final_norm.weight"].shape


def test_a_checkpoint_that_does_not_exist(tmp_path):
    """The error names the model of that name among the runs, or the command that trains one, and `grpe import`."""
    words = ("finetune", "--from", "pcqm4m.ckpt", "molhiv")
    importing = (
        "`grpe import WEIGHTS --heads HEADS --dataset DATASET --out pcqm4m.ckpt` makes one of the authors' weights."
    )
    nothing = grpe_in(tmp_path, *words, code=1)
    assert nothing == f"Error: pcqm4m.ckpt does not exist; `grpe train pcqm4m` trains such a model. {importing}\n"
    (tmp_path / "runs/pcqm4m/seed-0").mkdir(parents=True)
    trained.save(tmp_path / "runs/pcqm4m/seed-0/best.ckpt")
    assert "did you mean runs/pcqm4m/seed-0/best.ckpt?" in grpe_in(tmp_path, *words, code=1)
    trained.save(tmp_path / "runs/pcqm4m/best.ckpt")
    found = grpe_in(tmp_path, *words, code=1)
    assert found == f"Error: pcqm4m.ckpt does not exist; did you mean runs/pcqm4m/best.ckpt? {importing}\n"
    assert "grpe finetune --from runs/pcqm4m/best.ckpt molhiv" in grpe_in(tmp_path, "train", "molhiv", code=2)
    unknown = grpe_in(tmp_path, "finetune", "--from", "x/y.ckpt", "molhiv", code=1)
    assert "x/y.ckpt does not exist; accepted: a checkpoint. `grpe import" in unknown


def test_one_variant(models):
    settings = recipe(dataset=None, training__epochs=2).to_dict()
    settings["variants"] = {"near": {"overrides": {"training.clip": 0.5}}, "far": {"overrides": {}}}
    (models / "several.yaml").write_text(json.dumps(settings))
    words = ("finetune", "--from", "first/best.ckpt", "several.yaml", "--dataset", "three")
    grpe_in(models, *words, "--variant", "near")
    saved = load_checkpoint(models / "runs/finetune_three_near/best.ckpt")
    assert saved.recipe.training.clip == 0.5 and not saved.recipe.variants
