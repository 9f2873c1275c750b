"""What the documentation shows is run."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import grpe_dgl

ROOT = Path(__file__).parents[1]
MODULES = [
    module.name for module in pkgutil.walk_packages(grpe_dgl.__path__, "grpe_dgl.") if "__main__" not in module.name
]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")]), ids=lambda page: page.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), names)


def test_readme_has_an_example():
    assert python_blocks(ROOT / "README.md")


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
