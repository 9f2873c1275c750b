"""Two processes train what one does, batch statistics included: really run, with gloo."""

import pytest

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.training.run import run
from tests.models.test_message_passing_families import recipe_of
from tests.training.test_distributed import two_processes
from tests.training.tiny import write_dataset

PROGRAM = """
import sys
import torch
import grpe_dgl.data
from pathlib import Path
from grpe_dgl.recipe import load_recipe
from grpe_dgl.training.distributed import processes
from grpe_dgl.training.run import run
torch.set_num_threads(1)
recipe = load_recipe(sys.argv[1])
data = grpe_dgl.data.load(sys.argv[2], view=recipe.model.view)
with processes(torch.device("cpu")) as group:
    assert group.world_size == 2
    run(recipe, data, Path(sys.argv[3]), processes=group)
"""


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path):
    """Whole runs of one family; `tests.models.test_every_family` has a step of each."""
    path = write_dataset(tmp_path / "data", "regression", count=27)  # 19 to train on: the last batch is uneven
    recipe = recipe_of("gatedgcn", epochs=2)
    data = grpe_dgl.data.load(path, view=recipe.model.view)
    prepare_encodings(data.store, data.view.encodings)
    run(recipe, data, tmp_path / "one")
    (tmp_path / "recipe.yaml").write_text(recipe.to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "two")
    one, two = (load_checkpoint(tmp_path / folder / "last.ckpt") for folder in ("one", "two"))
    # Not the weights: a bias before batch norm has a gradient of rounding errors alone, which Adam scales up, and the
    # running statistics that validation uses follow it slowly.
    for column, close in (("train_loss", 1e-3), ("valid_mae", 2e-2)):
        values = [[row[column] for row in checkpoint.training["history"]] for checkpoint in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=close)
