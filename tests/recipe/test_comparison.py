from pathlib import Path

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe
from grpe_dgl.recipe.comparison import require_same_recipe


def test_what_changes_no_number_may_differ():
    recipe = load_recipe("zinc")
    other = recipe.override({"description": "x", "paper": None, "training.runs": 1, "variants.a.model.layers": 2})
    require_same_recipe(other, recipe, Path("last.ckpt"))


def test_every_key_that_differs_is_named():
    recipe = load_recipe("zinc")
    other = recipe.override({"model.layers": 3, "training.clip": 1.5, "dataset": "mine"})
    with pytest.raises(InputError) as error:
        require_same_recipe(other, recipe, Path("last.ckpt"))
    assert str(error.value) == (
        "last.ckpt was made by another recipe: dataset is 'zinc' there, 'mine' was asked for; "
        "model.layers is 12 there, 3 was asked for; training.clip is None there, 1.5 was asked for"
    )
