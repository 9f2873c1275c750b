import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.search import Choice, Range, read_space


def test_lists_and_ranges():
    space = read_space(
        {
            "model.layers": {"low": 2, "high": 6},
            "training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
            "model.dropout": {"low": 0, "high": 1, "step": 0.5},
            "training.clip": [None, 5.0],
        }
    )
    assert space["model.layers"] == Range(2, 6) and space["model.layers"].whole
    assert space["training.learning_rate"].log and not space["training.learning_rate"].whole
    assert not space["model.dropout"].whole and space["training.clip"] == Choice((None, 5.0))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("layers", [1, 2], "search.layers: accepted: full keys"),
        ("dataset.name", [1, 2], "full keys of model and training"),
        ("model.layers", 3, "search.model.layers is 3; accepted: a list of values, or a mapping with low and high"),
        ("model.layers", [], r"is \[\]; accepted: a list"),
        ("model.layers", [2, 2], "every value once"),
        ("model.layers", {"low": 1}, "accepted: a list of values, or a mapping with low and high"),
        ("model.layers", {"low": 1, "high": 2, "lgo": True}, "accepted: a list"),
        ("model.layers", {"low": "a", "high": 2}, "search.model.layers.low is 'a'; accepted: a number"),
        ("model.layers", {"low": 3, "high": 2}, "is from 3 to 2"),
        ("model.layers", {"low": 0, "high": 2, "log": True}, "low above 0"),
        ("model.layers", {"low": 1, "high": 2, "step": 0}, "step is 0; accepted: above 0"),
    ],
)
def test_refused_with_the_key(key, value, message):
    with pytest.raises(InputError, match=message):
        read_space({key: value})
    raw = {**load_recipe("property").to_dict(), "search": {key: value}}
    with pytest.raises(InputError):
        Recipe.from_dict(raw)


def test_a_recipe_keeps_its_section():
    recipe = load_recipe("property").override({"search": {"model.layers": [2, 3]}})
    assert Recipe.from_dict(recipe.to_dict()) == recipe and "model.layers" in recipe.to_yaml()
