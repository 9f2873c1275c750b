import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe, recipe_text, shipped_recipes

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


def test_path_or_name(path):
    assert load_recipe(path) == load_recipe(str(path))
    assert load_recipe("zinc").dataset == "zinc"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: {preset: tiny}\nmodel: {}\n", "mine.yaml: line 2: the key 'model' is given twice"),
        ("training:\n  epochs: 1\n  epochs: 2\n", "mine.yaml: line 3: the key 'epochs' is given twice"),
        ("model: [1\n", "mine.yaml: line 2: not YAML:"),
        ("? [1, 2]\n: 3\n", "mine.yaml: line 1: a key is [1, 2]; accepted: a text"),
        (
            "!!python/object/apply:os.system ['true']\n",
            "mine.yaml: line 1: not YAML: could not determine a constructor",
        ),
        ("", "mine.yaml: the file contains null; accepted: a mapping"),
        ("- 1\n", "mine.yaml: the file contains the list [1]; accepted: a mapping"),
    ],
)
def test_files_that_are_no_recipe_are_refused(path, text, message):
    path.write_text(text)
    with pytest.raises(InputError) as error:
        load_recipe(path)
    assert message in str(error.value)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'zinx' is not a shipped recipe \(did you mean zinc\?\); accepted: a path"):
        load_recipe("zinx")
    with pytest.raises(InputError, match="none.yaml: there is no such file"):
        load_recipe(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_recipe(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        load_recipe(tmp_path / "binary.yaml")


def test_yaml_merge_keys_still_work(path):
    path.write_text("base: &base {preset: tiny}\n" + TEXT)
    with pytest.raises(InputError, match="base is not a key"):
        load_recipe(path)
    path.write_text(TEXT.replace("{preset: tiny}", "{<<: {preset: tiny}, layers: 2}"))
    assert load_recipe(path).model.layers == 2


def test_a_name_is_never_a_file_of_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "zinc").write_text("nonsense")
    monkeypatch.chdir(tmp_path)
    assert load_recipe("zinc").dataset == "zinc"
    assert "zinc" in shipped_recipes() and recipe_text("zinc").startswith("# GRPE-Small on ZINC-12k.")
