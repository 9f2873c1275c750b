import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from grpe_dgl import __version__
from grpe_dgl_cli.main import main


def test_help_names_the_command():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "Graph transformers with relative positional encoding" in result.output


def test_no_summary_of_a_command_is_cut():
    result = CliRunner().invoke(main, ["--help"], terminal_width=80)
    assert "  train " in result.output and "..." not in result.output.partition("Commands:")[2]


@pytest.mark.parametrize(
    "command",
    [
        ["preprocess"],
        ["preprocess", "zinc"],
        ["preprocess", "cluster"],
        ["preprocess", "csv"],
        ["datasets"],
        ["predict"],
        ["fingerprint"],
        ["finetune"],
        ["import"],
        ["export"],
        ["info"],
    ],
)
def test_help_of_commands(command):
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0 and result.stdout.startswith("Usage: ")


def test_an_error_nobody_foresaw_keeps_its_traceback(monkeypatch, tmp_path):
    from grpe_dgl.data import catalogue

    class Broken(catalogue.Entry):
        def make(self, request):
            raise ZeroDivisionError("surprise")

    monkeypatch.setitem(catalogue.CATALOGUE, "zinc", Broken(title="t", source="zinc"))
    result = CliRunner().invoke(main, ["preprocess", "zinc", "--data", str(tmp_path)])
    assert isinstance(result.exception, ZeroDivisionError)


def test_version():
    result = CliRunner().invoke(main, ["--version"])
    assert result.output == f"grpe, version {__version__}\n"


def test_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["trian"])
    assert result.exit_code == 2
    assert "No such command 'trian'" in result.output


def test_help_loads_nothing_heavy():
    """What makes `grpe --help` quick: torch, dgl, rdkit and numba load only inside the commands that need them."""
    program = (
        "import sys; from grpe_dgl_cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'torch', 'dgl', 'rdkit', 'numba', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_runs_as_a_module():
    run = subprocess.run([sys.executable, "-m", "grpe_dgl", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"grpe, version {__version__}\n"


def test_importing_the_library_leaves_the_home_folder_alone(tmp_path):
    program = "import grpe_dgl.transforms, grpe_dgl.nn"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout == run.stderr == ""
    assert not (tmp_path / ".dgl").exists()
