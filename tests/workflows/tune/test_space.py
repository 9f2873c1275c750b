import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.recipe.search import Choice, Range
from grpe_dgl.workflows.tune.space import search_space


def test_the_default_is_around_the_recipes_own_values():
    sizes = {"start_from": None, "model.hidden_size": 128, "model.layers": 6, "model.num_heads": 8}
    recipe = load_recipe("property", sizes)
    space = search_space(recipe)
    assert space["model.layers"] == Range(3, 12) and space["model.hidden_size"] == Choice((64, 128, 256))
    rate = recipe.training.learning_rate
    assert space["training.learning_rate"] == Range(rate / 5, rate * 5, log=True)
    assert space["model.max_distance"] == Choice((2, 3, 5, 8))
    # 12 is no multiple of 8 heads
    narrow = load_recipe("property", {**sizes, "model.hidden_size": 24})
    assert search_space(narrow)["model.hidden_size"] == Choice((24, 48))


def test_every_shipped_recipe_has_a_default_whose_values_it_accepts():
    for name in shipped_recipes():
        recipe = load_recipe(name)
        if recipe.variants:
            continue
        for key, entry in search_space(recipe).items():
            for value in entry.values if isinstance(entry, Choice) else (entry.low, entry.high):
                recipe.override({key: value})
        if recipe.start_from is not None:
            assert not any("size" in key and key.startswith("model") for key in search_space(recipe))


def test_a_recipes_own_section_replaces_it():
    recipe = load_recipe("property").override({"search": {"model.layers": [2, 3]}})
    assert search_space(recipe) == {"model.layers": Choice((2, 3))}
    with pytest.raises(InputError, match=r"layer.*did you mean .*layers"):
        search_space(load_recipe("property").override({"search": {"model.layer": [2, 3]}}))
