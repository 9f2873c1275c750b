import functools
import subprocess
import sys

import pytest

from grpe_dgl.recipe import recipe_text, shipped_recipes
from tests.cli.invoke import invoke


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return functools.partial(invoke, "recipes")


def test_list(run):
    result = run()
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == ["RECIPE", "DATASET", "MODEL", "PARAMETERS", "PAPER"]
    assert [line.split()[0] for line in lines[1:]] == shipped_recipes()
    assert "zinc             zinc      small                476,801  test MAE 0.094 ± 0.002" in lines
    assert lines[0].index("PAPER") == next(line for line in lines if line.startswith("pcqm4m ")).index(
        "train MAE 0.0349, validation MAE"
    )
    assert "property         any       6 layers of 128      752,769  -" in lines


def test_show(run):
    result = run("show", "cluster")
    assert (result.exit_code, result.output) == (0, recipe_text("cluster"))


def test_copy(run, tmp_path):
    assert run("copy", "zinc").output == "copied to zinc.yaml\n"
    assert (tmp_path / "zinc.yaml").read_text() == recipe_text("zinc")
    (tmp_path / "folder").mkdir()
    assert run("copy", "zinc", "folder").output == "copied to folder/zinc.yaml\n"
    assert run("copy", "zinc", "mine.yml").exit_code == 0
    assert run("show", "mine.yml").output == recipe_text("zinc")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "zinx"], 1, "Error: 'zinx' is not a shipped recipe (did you mean zinc?)"),
        (["show", "none.yaml"], 1, "Error: none.yaml: there is no such file"),
        (["copy", "zinx"], 1, "Error: 'zinx' is not a shipped recipe"),
        (["copy", "zinc", "taken.yaml"], 1, "Error: taken.yaml exists already and is not overwritten"),
        (["copy", "zinc", "none/zinc.yaml"], 1, "Error: none/zinc.yaml cannot be written: No such file or directory"),
        (["show"], 2, "Missing argument 'RECIPE'"),
        (["copy"], 2, "Missing argument 'NAME'"),
        (["shwo"], 2, "No such command 'shwo'"),
    ],
)
def test_errors(run, tmp_path, arguments, code, message):
    (tmp_path / "taken.yaml").write_text("mine")
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.output
    assert (tmp_path / "taken.yaml").read_text() == "mine"


@pytest.mark.parametrize("command", [[], ["show"], ["copy"]])
def test_help(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "recipe" in result.output.lower()


def test_listing_loads_neither_torch_nor_dgl():
    check = (
        "import sys; from click.testing import CliRunner; from grpe_dgl_cli.main import main; "
        "assert CliRunner().invoke(main, ['recipes']).exit_code == 0; "
        "assert not {'torch', 'dgl', 'numba', 'rdkit'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)
