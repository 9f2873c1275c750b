import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from grpe_dgl_cli.main import main


@pytest.mark.parametrize(
    "command", [[], ["preprocess"], ["preprocess", "zinc"], ["preprocess", "cluster"], ["datasets"], ["info"]]
)
def test_help(command):
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0 and result.stdout.startswith("Usage: ")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from grpe_dgl_cli.main import main\n"
        "try: main(['preprocess', 'zinc', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'dgl', 'numba', 'rdkit', 'ogb'} & set(sys.modules)))"
    )
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert time.monotonic() - begin < 5.0


def test_an_error_nobody_foresaw_keeps_its_traceback(monkeypatch, tmp_path):
    from grpe_dgl.data import catalogue

    def make(request):
        raise ZeroDivisionError("surprise")

    monkeypatch.setitem(catalogue.CATALOGUE, "zinc", catalogue.Entry(title="t", make=make))
    result = CliRunner().invoke(main, ["preprocess", "zinc", "--data", str(tmp_path)])
    assert isinstance(result.exception, ZeroDivisionError)
