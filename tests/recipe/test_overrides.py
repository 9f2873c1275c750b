import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe
from grpe_dgl.recipe.overrides import merge_overrides, shorten

TEXT = """
model: {preset: tiny}
training:
  batch_size: 8
  updates: 100
  warmup_updates: 10
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    "given", [["model.layers=3", "training.clip=null", "model.head_sizes=[5]"], {"model.layers": 3}]
)
def test_overrides(path, given):
    assert load_recipe(path, given).model.layers == 3


def test_override_texts_are_typed_like_the_file(path):
    recipe = load_recipe(
        path, ["training.learning_rate=1e-3", "dataset=null", "model.head_sizes=[5]", "training.clip=5"]
    )
    assert (recipe.training.learning_rate, recipe.dataset, recipe.model.head_sizes) == (1e-3, None, (5,))
    assert recipe.training.clip == 5.0


def test_an_override_replaces_what_contradicts_it(path):
    recipe = load_recipe(path, ["training.epochs=3", "training.warmup_epochs=1"])
    assert (recipe.training.epochs, recipe.training.updates) == (3, None)
    assert (recipe.training.warmup_epochs, recipe.training.warmup_updates) == (1, None)
    path.write_text(load_recipe(path).to_yaml())  # sizes written out
    assert load_recipe(path, ["model.preset=small"]).model.hidden_size == 80
    assert load_recipe(path, ["model.layers=2", "model.preset=small"]).model.layers == 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.layers", "'model.layers' is not an override; accepted: KEY=VALUE, for example model.layers=4"),
        ("=4", "'=4' is not an override"),
        ("model.layers=[", "has a value that is not YAML"),
        ("model.layrs=4", "with model.layrs=4: model.layrs is not a key of a recipe (did you mean model.layers?)"),
        ("model.layers=four", "with model.layers=four: model.layers is 'four' (a text); accepted: a whole number"),
        ("training.batch_size.x=4", "training.batch_size.x cannot be set; training.batch_size is 8 (a whole number)"),
    ],
)
def test_overrides_that_do_not_fit_are_refused(path, override, message):
    with pytest.raises(InputError) as error:
        load_recipe(path, [override])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("training", "epochs", "changes"),
    [
        ({"epochs": 100, "warmup_epochs": 5}, 40, {"training.warmup_epochs": 2}),
        ({"epochs": 100, "warmup_epochs": 5}, 3, {"training.warmup_epochs": 0}),
        ({"epochs": 100, "warmup_epochs": 5}, 100, {}),
        ({"epochs": 100, "warmup_updates": 500}, 10, {"training.warmup_updates": 50}),
        ({"updates": 1000, "warmup_updates": 100}, 20, {"training.warmup_epochs": 2}),
        ({"updates": 1000, "warmup_epochs": 9}, 4, {"training.warmup_epochs": 3}),
        ({"epochs": 100, "stop_after_epochs": 5}, 200, {"training.stop_after_epochs": None}),
        ({"epochs": "many", "warmup_epochs": True}, 3, {}),  # the wrong types are refused later
    ],
)
def test_a_shorter_schedule_keeps_the_share_of_its_warmup(training, epochs, changes):
    assert shorten(training, epochs) == changes


def test_another_family_or_schedule_removes_the_keys_that_it_does_not_read():
    recipe = load_recipe("zinc", ["model.name=gcn", "model.preset=500k", "training.schedule=constant"])
    assert (recipe.model.NAME, recipe.model.layers, recipe.model.hidden_size) == ("gcn", 16, 172)
    assert (recipe.training.schedule, recipe.training.warmup_updates) == ("constant", 40_000)
    plateau = recipe.override({"training.schedule": "plateau", "training.epochs": 9, "model.name": "gcn"})
    assert (plateau.training.warmup_updates, plateau.training.epochs, plateau.model) == (None, 9, recipe.model)
    assert merge_overrides({"training.updates": 5, "model.layers": 2}, {"training.epochs": 3}) == {
        "model.layers": 2,
        "training.epochs": 3,
    }
