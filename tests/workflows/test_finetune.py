from pathlib import Path

import pytest
import torch

from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe
from grpe_dgl.workflows.experiment import run_experiment
from grpe_dgl.workflows.finetune import Pretrained
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    run_experiment(recipe(training__epochs=2), write_dataset(folder / "tiny", "regression"), folder / "run")
    return Pretrained.load(folder / "run" / "best.ckpt")


def test_the_model_is_the_checkpoints_and_the_head_is_the_recipes(source):
    other = recipe(model__layers=7, model__dropout=0.25, model__head_sizes=[9], training__epochs=2)
    adapted = source.adapt(other)
    assert (adapted.model.layers, adapted.model.dropout, adapted.model.head_sizes) == (2, 0.25, (9,))
    assert adapted.training == other.training and adapted.start_from == str(source.path)


def test_trains_from_the_checkpoints_weights(source, tmp_path):
    data = write_dataset(tmp_path / "three", "binary")
    chosen = source.adapt(recipe(training__freeze_encoder=True, training__epochs=2))
    preview = source.preview(chosen, data)
    assert preview.fresh == ["head (3 wide)"] and preview.left == []
    run_experiment(chosen, data, tmp_path / "out", start=source.start(chosen))
    saved = load_checkpoint(tmp_path / "out" / "best.ckpt")
    assert saved.provenance["started_from"] == str(source.path) and saved.provenance["dataset"] == "tiny"
    encoder = [name for name in saved.weights if not name.startswith("head.")]
    assert len(encoder) > 10
    assert all(torch.equal(saved.weights[name], source.checkpoint.weights[name]) for name in encoder)


def test_weights_that_do_not_fit(source, tmp_path):
    data = write_dataset(tmp_path / "three", "binary")
    with pytest.raises(InputError, match="model.hidden_size is 16 in .*best.ckpt, 32 was asked for"):
        source.preview(source.adapt(recipe()).override({"model.hidden_size": 32}), data)
    with pytest.raises(InputError, match="is not a checkpoint"):
        Pretrained.load(Path(__file__))


def test_a_start_from_another_model_than_the_papers_is_listed():
    """molhiv starts from a model of pcqm4m: its recipe and its dataset are compared."""
    molhiv = load_recipe("molhiv")

    def listed(recipe, dataset="pcqm4m", **provenance):
        saved = Checkpoint(recipe=recipe, schema=schema_of(dataset), weights={}, provenance=provenance)
        return Pretrained(Path("x.ckpt"), saved).differences(molhiv)

    assert listed(load_recipe("pcqm4m", {"training.seed": 3})) == []
    short = load_recipe("pcqm4m", {"training.epochs": 20})
    assert listed(short) == ["starts from a model with training.epochs 20 instead of 400"]
    assert listed(load_recipe("zinc"), "zinc") == ["starts from a model of zinc instead of pcqm4m"]
    assert listed(short, imported_from="pcqm4m_pretrained_standard.pt") == []  # the authors' own weights
    saved = Checkpoint(recipe=short, schema=schema_of("pcqm4m"), weights={})
    assert Pretrained(Path("x.ckpt"), saved).differences(load_recipe("zinc")) == []
