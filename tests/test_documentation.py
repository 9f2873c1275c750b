"""What the documentation shows is run."""

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import grpe_dgl
from grpe_dgl_cli.main import main
from tests.cli.invoke import grpe

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
MODULES = [
    module.name for module in pkgutil.walk_packages(grpe_dgl.__path__, "grpe_dgl.") if "__main__" not in module.name
]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), names)


def test_readme_has_an_example():
    assert python_blocks(ROOT / "README.md")


def test_readme_runs_twice_in_one_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        names: dict[str, object] = {}
        for block in python_blocks(ROOT / "README.md"):
            exec(compile(block, "README.md", "exec"), names)


def console_lines(page):
    """Return the lines of the console blocks as lists of words, without comments, broken lines joined."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line]


def check_grpe(words):
    """Parse the words after `grpe` as click would, and convert what names no file; run nothing."""
    command, words = main, list(words)
    context = click.Context(main, info_name="grpe")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"no command {name!r}"
        context = click.Context(command, parent=context, info_name=name)
    assert words or not command.no_args_is_help, f"{context.command_path} needs more"
    given, left, _ = command.make_parser(context).parse_args(words)
    assert not left, f"{left} is too much for {context.command_path}"
    for parameter in command.get_params(context):
        value = given.get(parameter.name)
        missing = value is None or value == () or repr(value) == "Sentinel.UNSET"
        assert not (missing and parameter.required), f"{context.command_path} needs {parameter.name}"
        if not missing and not isinstance(parameter.type, click.Path):
            parameter.type_cast_value(context, value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_exist_with_their_options(page):
    for words in console_lines(page):
        if words[0] == "grpe":
            check_grpe(words[1:])
        elif words[0] == "torchrun":
            check_grpe(words[words.index("grpe_dgl") + 1 :])


def test_every_line_of_the_readme_can_be_pasted():
    recipes = {path.stem for path in ROOT.glob("recipes/*.yaml")}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    lines = console_lines(ROOT / "README.md")
    assert {words[0] for words in lines} == {"grpe", "make", "pip", "python", "source"}
    for words in lines:
        if words[0] == "make":
            assert set(words[1:]) <= targets
        if words[:2] == ["grpe", "train"]:
            assert words[2] in recipes
        for word in words:
            assert not word.startswith("examples/") or (ROOT / word).is_file()


@pytest.mark.slow
def test_commands_of_the_readme_run_on_a_small_table(tmp_path, monkeypatch):
    """Every `grpe` line up to the paper's results, with one epoch and forty molecules, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    Path("examples").mkdir()
    rows = (ROOT / "examples/logp.csv").read_text().splitlines(keepends=True)
    Path("examples/logp.csv").write_text("".join(rows[:41]))
    page = tmp_path / "README.md"
    page.write_text((ROOT / "README.md").read_text().partition("## The paper's results")[0])
    lines = [words for words in console_lines(page) if words[0] == "grpe" and words[1] != "--help"]
    assert {"fit", "predict", "export"} <= {words[1] for words in lines}
    for words in lines:
        short = ["--epochs", "1"] if words[1] in ("fit", "train") else []
        grpe(*words[1:], *short)
        if "--out" in words:
            assert Path(words[words.index("--out") + 1]).exists()


@pytest.mark.parametrize(
    "line",
    [
        "trian zinc",
        "train",
        "preprocess",
        "train zinc --epoks 3",
        "train zinc --epochs many",
        "info a b",
        "preprocess zink",
    ],
)
def test_a_wrong_command_is_noticed(line):
    with pytest.raises((click.UsageError, AssertionError)):
        check_grpe(line.split())


def test_the_sample_table_is_what_its_script_makes():
    run = subprocess.run([sys.executable, ROOT / "examples/make_logp.py"], capture_output=True, text=True, check=True)
    assert run.stdout == (ROOT / "examples/logp.csv").read_text()


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
