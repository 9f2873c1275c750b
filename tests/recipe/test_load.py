"""A recipe read from files: the one that is named, and those it extends."""

from pathlib import Path

import pytest
import yaml

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe, load_recipe, recipe_text
from grpe_dgl.recipe.load import MAX_BASES, read_recipe

BASE = {
    "description": "base",
    "dataset": "zinc",
    "start_from": "pcqm4m",
    "model": {"preset": "small", "layers": 7, "dropout": 0.3},
    "training": {"batch_size": 8, "updates": 100, "warmup_updates": 10, "clip": 5.0},
    "paper": {"table": "t", "metric": "m", "value": "1"},
    "variants": {"near": {"model": {"max_distance": 1}, "paper": {"table": "t", "metric": "m", "value": "2"}}},
}


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    write("base.yaml", BASE)
    return write


def test_everything_but_the_papers_numbers_is_inherited(write):
    base, recipe = load_recipe(write("base.yaml", BASE)), load_recipe(write("mine.yaml", {"extends": "base.yaml"}))
    assert (recipe.description, recipe.dataset, recipe.start_from) == ("base", "zinc", "pcqm4m")
    assert (recipe.model, recipe.training) == (base.model, base.training)
    assert base.paper is not None and base.variants["near"].paper is not None
    assert recipe.paper is None and recipe.variants["near"].paper is None
    assert recipe.variant("near").model.max_distance == 1


def test_sections_are_merged_key_by_key(write):
    path = write("mine.yaml", {"extends": "base.yaml", "model": {"dropout": 0.0}, "training": {"batch_size": 9}})
    recipe = load_recipe(path)
    assert (recipe.model.layers, recipe.model.hidden_size, recipe.model.dropout) == (7, 80, 0.0)
    assert (recipe.training.batch_size, recipe.training.updates, recipe.training.clip) == (9, 100, 5.0)


def test_a_key_replaces_what_contradicts_it_in_the_base(write):
    own = {"extends": "base.yaml", "model": {"preset": "tiny"}, "training": {"epochs": 3, "warmup_epochs": 1}}
    recipe = load_recipe(write("mine.yaml", own))
    assert (recipe.model.layers, recipe.model.hidden_size) == (4, 64)  # the base's own number of layers goes too
    assert (recipe.training.epochs, recipe.training.updates) == (3, None)
    assert (recipe.training.warmup_epochs, recipe.training.warmup_updates) == (1, None)


def test_other_keys_replace_the_bases(write):
    paper = {"table": "own", "metric": "m", "value": "3"}
    own = {"extends": "base.yaml", "start_from": None, "paper": paper, "variants": {"far": {"model": {"layers": 1}}}}
    recipe = load_recipe(write("mine.yaml", own))
    assert recipe.start_from is None and recipe.paper.table == "own" and list(recipe.variants) == ["far"]
    assert load_recipe(write("none.yaml", {"extends": "base.yaml", "variants": {}})).variants == {}
    assert load_recipe(write("null.yaml", {**BASE, "extends": None})).paper.value == "1"


def test_a_shipped_name_or_a_path_relative_to_the_file(write, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    write("zinc", "nonsense")  # a name is never a file
    assert load_recipe(write("mine.yaml", {"extends": "zinc"})).training == load_recipe("zinc").training
    inside = write("folder/inner.yaml", {"extends": "../base.yaml", "model": {"layers": 3}})
    assert load_recipe(inside).model.layers == 3
    outer = load_recipe(write("outer.yaml", {"extends": "folder/inner.yaml", "dataset": None}))
    assert (outer.model.layers, outer.dataset) == (3, None)
    assert load_recipe(write("absolute.yaml", {"extends": str(tmp_path / "base.yaml")})).model.layers == 7


def test_overrides_come_last(write):
    path = write("mine.yaml", {"extends": "base.yaml", "model": {"layers": 3}})
    assert load_recipe(path, ["model.layers=2", "training.epochs=5"]).model.layers == 2
    assert read_recipe(path)["training"]["updates"] == 100 and "extends" not in read_recipe(path)


def test_a_resolved_recipe_has_no_extends(write):
    recipe = load_recipe(write("mine.yaml", {"extends": "base.yaml"}))
    assert "extends" not in recipe.to_dict() and "extends" not in recipe.to_yaml()
    assert Recipe.from_dict(yaml.safe_load(recipe.to_yaml())) == recipe
    with pytest.raises(InputError, match="x: extends is only accepted in a file that load_recipe reads"):
        Recipe.from_dict({"extends": "zinc"}, source="x")


def test_anything_but_a_text_is_refused(write):
    with pytest.raises(
        InputError, match=r"mine.yaml: extends is 5 \(a whole number\); accepted: the name of a shipped"
    ):
        load_recipe(write("mine.yaml", {"extends": 5}))
    with pytest.raises(InputError, match=r"mine.yaml: extends is the list \['zinc'\]; accepted"):
        load_recipe(write("mine.yaml", {"extends": ["zinc"]}))
    with pytest.raises(InputError, match=r"extnds is not a key of a recipe \(did you mean extends\?\)"):
        load_recipe(write("mine.yaml", {"extnds": "zinc"}))


def test_a_base_that_is_missing_or_broken_is_named_with_the_file_that_extends_it(write):
    with pytest.raises(InputError, match=r"mine.yaml: extends: 'zinx' is not a shipped recipe \(did you mean zinc\?\)"):
        load_recipe(write("mine.yaml", {"extends": "zinx"}))
    with pytest.raises(InputError, match=r"mine.yaml: extends: .*none.yaml: there is no such file"):
        load_recipe(write("mine.yaml", {"extends": "none.yaml"}))
    write("broken.yaml", "model: [1\n")
    with pytest.raises(InputError, match=r"mine.yaml: extends: .*broken.yaml: line 2: not YAML"):
        load_recipe(write("mine.yaml", {"extends": "broken.yaml"}))
    write("wrong.yaml", {**BASE, "model": {"preset": "tiny", "layrs": 3}})
    with pytest.raises(InputError, match=r"mine.yaml \(extends .*wrong.yaml\): model.layrs is not a key"):
        load_recipe(write("mine.yaml", {"extends": "wrong.yaml"}))
    with pytest.raises(InputError, match=r"model is 'tiny' \(a text\); accepted: a mapping"):
        load_recipe(write("mine.yaml", {"extends": "base.yaml", "model": "tiny"}))


def test_a_circle_is_refused(write):
    with pytest.raises(InputError, match=r"self.yaml: extends goes in a circle: .*self.yaml -> .*self.yaml"):
        load_recipe(write("self.yaml", {"extends": "self.yaml"}))
    write("a.yaml", {"extends": "b.yaml"})
    write("b.yaml", {"extends": "folder/../a.yaml"})
    write("folder/any.yaml", {})
    with pytest.raises(InputError, match=r"goes in a circle: .*a.yaml -> .*b.yaml -> .*a.yaml"):
        load_recipe(write("mine.yaml", {"extends": "a.yaml"}))


def test_too_many_in_a_row_are_refused(write):
    write("0.yaml", BASE)
    for number in range(1, MAX_BASES + 2):
        path = write(f"{number}.yaml", {"extends": f"{number - 1}.yaml"})
        if number <= MAX_BASES:
            assert load_recipe(path).model.layers == 7
    with pytest.raises(
        InputError, match=rf"6.yaml: extends more than {MAX_BASES} recipes in a row: .*6.yaml -> .*0.ya"
    ):
        load_recipe(path)


def test_the_path_of_a_shipped_recipe_in_a_clone_works_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("recipes/cluster.yaml", Path("./recipes/cluster.yaml")):
        assert load_recipe(path) == load_recipe("cluster") and recipe_text(path) == recipe_text("cluster")
    for path in ("recipes/mine.yaml", "other/cluster.yaml", tmp_path / "recipes" / "cluster.yaml", "cluster.yaml"):
        with pytest.raises(InputError, match="there is no such file"):
            load_recipe(path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "cluster.yaml").write_text("extends: zinc\n")
    assert load_recipe("recipes/cluster.yaml").dataset == "zinc"  # a file that exists is read
