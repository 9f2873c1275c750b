import pytest

from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.training.schedule import Schedule
from grpe_dgl_cli.support.training_options import TrainingOptions, change_recipe, recipe_overrides

GIVEN = dict.fromkeys(TrainingOptions.__dataclass_fields__) | {"settings": (), "resume": False, "device": "cpu"}


def overrides(training, *settings, **shortcuts):
    return recipe_overrides(TrainingOptions(**{**GIVEN, "settings": settings, **shortcuts}), training)


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if name != "pretrain"])  # shortened by its command
@pytest.mark.parametrize("epochs", [1, 2, 7])
def test_epochs_alone_shortens_every_shipped_recipe(name, epochs):
    training = load_recipe(name).to_dict()["training"]
    changed = load_recipe(name, overrides(training, epochs=epochs)).training
    assert changed.epochs == epochs and changed.stop_after_epochs is None
    assert Schedule.of(changed, steps_per_epoch=3).last_update == 3 * epochs


def test_epochs_prints_what_becomes_of_the_warmup(capsys):
    training = load_recipe("property").to_dict()["training"]
    assert overrides(training, epochs=3) == {"training.epochs": 3, "training.warmup_epochs": 0}
    assert capsys.readouterr().out == "warm-up: 0 epochs instead of 3, as --epochs is 3\n"
    assert overrides(training, epochs=10)["training.warmup_epochs"] == 1
    assert overrides(training, epochs=100) == {"training.epochs": 100}
    molhiv = load_recipe("molhiv").to_dict()["training"]
    capsys.readouterr()
    overrides(molhiv, epochs=2)
    assert (
        capsys.readouterr().out
        == "warm-up: 0 epochs instead of 3; stop_after_epochs removed (it was 5), as --epochs is 2\n"
    )
    overrides(load_recipe("zinc").to_dict()["training"], epochs=20)
    assert capsys.readouterr().out == "warm-up: 2 epochs instead of 40,000 updates, as --epochs is 20\n"
    own = overrides(molhiv, "training.warmup_updates=7", "training.stop_after_epochs=1", epochs=2)
    assert own == {"training.epochs": 2, "training.warmup_updates": 7, "training.stop_after_epochs": 1}
    assert capsys.readouterr().out == ""


def test_set_wins_over_a_shortcut_and_zero_is_given():
    assert overrides({}, "training.seed=3", seed=0, batch_size=7) == {"training.seed": 3, "training.batch_size": 7}
    assert overrides({}, seed=0) == {"training.seed": 0}
    assert overrides({}) == {}


def test_only_the_first_process_prints(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    training = load_recipe("property").to_dict()["training"]
    assert overrides(training, epochs=3)["training.warmup_epochs"] == 0
    assert capsys.readouterr().out == ""


def test_options_come_after_the_keys_of_a_variant():
    options = TrainingOptions(**{**GIVEN, "epochs": 15, "settings": ("model.dropout=0.4",)})
    table = load_recipe("table_zinc")
    one = change_recipe(table.variant("egt"), TrainingOptions(**{**GIVEN, "epochs": 15}), source="table_zinc")
    assert (one.training.epochs, one.training.learning_rate, one.model.NAME) == (15, 5e-4, "egt")
    every = change_recipe(table, options, source="table_zinc")
    assert {every.variant(name).training.epochs for name in every.variants} == {15}
    graphormer = every.variant("graphormer")
    assert (graphormer.training.updates, graphormer.training.warmup_epochs, graphormer.training.runs) == (None, 1, 4)
    assert graphormer.training.warmup_updates is None and graphormer.model.dropout == 0.1
    assert every.variant("gcn").model.dropout == 0.4 and every.variant("gcn").paper == table.variant("gcn").paper
