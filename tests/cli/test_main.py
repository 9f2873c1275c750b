import subprocess
import sys
from pathlib import Path

import click
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


def commands(group=main, path=()):
    """Yield the words of every command and sub-command."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            yield (*path, name)
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_help_fits_80_columns(words):
    result = CliRunner().invoke(main, [*words, "--help"], terminal_width=80)
    assert result.exit_code == 0 and result.stdout.startswith(f"Usage: main {' '.join(words)} ")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "..." not in result.stdout.partition("Commands:")[2]


def test_every_command_has_its_test_file():
    files = {path.name for path in (Path(__file__).parent / "commands").glob("test_*.py")}
    modules = {path.stem for path in (Path(__file__).parents[2] / "cli" / "commands").glob("[a-z]*.py")}
    assert {f"test_{module}.py" for module in modules} <= files


def test_an_unexpected_error_keeps_its_traceback(monkeypatch, tmp_path):
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
