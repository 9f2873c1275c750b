import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive of this checkout and the wheel that is built from it, as `python -m build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"(?im)^.*\bwarning:.*", done.stdout) == []
    (wheel,), (archive,) = folder.glob("grpe_dgl-*.whl"), folder.glob("grpe_dgl-*.tar.gz")
    return wheel, archive


@pytest.mark.slow
def test_wheel_holds_the_library_the_recipes_and_the_licence_and_nothing_else(built):
    wheel, _ = built
    assert wheel.stat().st_size < 12_000_000
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        metadata = file.read(f"grpe_dgl-{grpe_dgl.__version__}.dist-info/METADATA").decode()
    sources = {"grpe_dgl": "grpe_dgl", "cli": "grpe_dgl_cli", "recipes": "grpe_dgl_recipes"}
    expected = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in sources.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }
    information = f"grpe_dgl-{grpe_dgl.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(information)} == expected
    assert {"grpe_dgl/py.typed", "grpe_dgl_recipes/zinc.yaml"} <= names
    licences = PROJECT["project"]["license-files"]
    assert {f"{information}licenses/{name}" for name in licences} <= names
    assert "Requires-Python: <3.13,>=3.11" in metadata and "License-Expression: MIT" in metadata
    assert re.search(r"Requires-Dist: dgl<2,>=1.1.3; python_version < .3.12", metadata)
    assert re.search(r"Requires-Dist: dgl<3,>=2.1; python_version >= .3.12", metadata)


@pytest.mark.slow
def test_archive_holds_every_file_of_the_checkout(built):
    _, archive = built
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames() if not name.endswith("/")}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        wanted = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
        assert {name for name in wanted - names if name.split("/")[0] not in (".ci", ".gitignore")} == set()
    assert not any("__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc")) for name in names)
    assert not any(name.startswith((".venv", "build", "dist", "runs", "demo", "data/")) for name in names)


@pytest.mark.slow
def test_wheel_runs_outside_the_checkout(built, tmp_path):
    wheel, _ = built
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}  # which may be a checkout
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"

    def output(*command):
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
        return done.stdout

    output(python, "-m", "pip", "install", "--no-deps", "--quiet", wheel)
    # Its requirements come from this environment by path, which leaves this environment's own grpe_dgl out of sight.
    (packages,) = (tmp_path / "venv/lib").glob("python3.*/site-packages")
    (packages / "requirements.pth").write_text(f"{Path(importlib.util.find_spec('torch').origin).parents[1]}\n")
    program = "import grpe_dgl.nn, grpe_dgl_cli, grpe_dgl_recipes; print(grpe_dgl.nn.__file__, grpe_dgl_cli.__file__)"
    assert output(python, "-c", program).count(str(tmp_path)) == 2
    grpe = tmp_path / "venv/bin/grpe"
    assert output(grpe, "--version") == f"grpe, version {grpe_dgl.__version__}\n"
    # One table is trained on, from the model that the wheel holds and by a recipe that it holds; then a prediction.
    table = (ROOT / "examples" / "logp.csv").read_text().splitlines()[:41]
    (tmp_path / "table.csv").write_text("\n".join(table) + "\n")
    output(grpe, "fit", "table.csv", "--target", "logP", "--epochs", "1", "--out", "run")
    header, row = output(grpe, "predict", "run", "CCO").splitlines()
    assert header == "smiles,predicted_logP,error" and re.fullmatch(r"CCO,-?\d+\.\d+,", row)
