import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

import grpe_dgl

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_listed():
    """`packages` is written out, because two folders install under other names; a new folder must be added by hand."""
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("grpe_dgl/**/__init__.py")}
    cli = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("cli/**/__init__.py")}
    found |= {name.replace("cli", "grpe_dgl_cli", 1) for name in cli} | {"grpe_dgl_recipes"}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_one_version():
    assert PROJECT["project"]["version"] == grpe_dgl.__version__


def test_names_that_load_when_asked_for_are_listed():
    assert {"import_official", "load", "__version__"} <= set(dir(grpe_dgl))
    for name in grpe_dgl._MODULE_OF:
        assert callable(getattr(grpe_dgl, name))


def test_every_requirement_is_pinned_for_the_makefile():
    pinned = {
        re.split("==", line)[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = PROJECT["project"]["dependencies"] + [requirement for extra in extras for requirement in extra]
    names = {re.match(r"[\w-]+", requirement)[0].lower().replace("_", "-") for requirement in wanted}
    assert names - pinned == set()


@pytest.mark.slow
def test_wheel_runs_outside_the_checkout(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("grpe_dgl-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--quiet", wheel], check=True, cwd=tmp_path)
    # Its requirements come from this environment by path, which leaves this environment's own grpe_dgl out of sight.
    requirements = tmp_path / "venv/lib/python3.11/site-packages/requirements.pth"
    requirements.write_text(sysconfig.get_path("purelib") + "\n")
    program = "import grpe_dgl.nn, grpe_dgl_cli, grpe_dgl_recipes; print(grpe_dgl.nn.__file__, grpe_dgl_cli.__file__)"
    run = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.count(str(tmp_path)) == 2
    run = subprocess.run([tmp_path / "venv/bin/grpe", "--help"], check=True, capture_output=True, text=True)
    assert run.stdout.startswith("Usage: grpe")
