"""The recipes are found when grpe-dgl is installed from a wheel."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grpe_dgl.recipe import shipped_recipes

ROOT = Path(__file__).parents[2]
CHECK = """
import sys, grpe_dgl_recipes
from grpe_dgl.recipe import load_recipe, shipped_recipes
assert grpe_dgl_recipes.__file__.startswith(sys.argv[1]), grpe_dgl_recipes.__file__
print(" ".join(name for name in shipped_recipes() if load_recipe(name)))
"""


@pytest.mark.slow
def test_recipes_are_in_the_wheel(tmp_path):
    sources = tmp_path / "sources"  # building writes beside the sources
    for part in ("grpe_dgl", "cli", "recipes"):
        shutil.copytree(ROOT / part, sources / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, sources)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(sources)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    check = subprocess.run(
        [sys.executable, "-c", CHECK, str(installed)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert check.stdout.split() == shipped_recipes()
