"""Every shipped recipe, and each of its variants, takes a step on tiny data."""

import pytest

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.training.run import run
from grpe_dgl.training.stop_request import Stopped
from grpe_dgl.workflows.plan import plan
from tests.training.test_run import Stop
from tests.training.tiny import write_dataset

KIND_OF_LOSS = {
    "l1": "regression",
    "huber": "regression",
    "bce": "binary",
    "weighted_cross_entropy": "multiclass",
    None: "regression",
}
SMALL = {"model.layers": 2, "model.hidden_size": 64, "model.ffn_size": 16, "training.batch_size": 4, "training.runs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for kind in ("regression", "binary", "multiclass"):
        write_dataset(folder / kind, kind)
    return folder


@pytest.mark.parametrize("name", shipped_recipes())
def test_takes_a_step(name, folder, tmp_path):
    recipe = load_recipe(name)
    length = {"training.updates": 50} if recipe.training.updates else {}
    length |= {"training.warmup_updates": 5} if recipe.training.warmup_updates else {}
    for planned in plan(recipe.override({**SMALL, **length}), tmp_path):
        data = grpe_dgl.data.load(
            folder / KIND_OF_LOSS[recipe.training.loss], max_distance=planned.recipe.model.max_distance
        )
        with pytest.raises(Stopped):
            run(planned.recipe, data, planned.folder, stop=Stop(1))
        assert load_checkpoint(planned.folder / "last.ckpt").training["update"] == 1
