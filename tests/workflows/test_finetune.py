from pathlib import Path

import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
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
