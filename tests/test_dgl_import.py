"""DGL 2 imports although its graphbolt is not compiled for this torch; a DGL that has its own keeps it."""

import importlib.metadata
import subprocess
import sys

import pytest
import torch

FAKE = """
import sys
sys.path.insert(0, sys.argv[1])
import grpe_dgl
import dgl
import dgl.graphbolt.base
print(dgl.graphbolt.__file__ if hasattr(dgl.graphbolt, "__file__") else "empty", "torchdata" in sys.modules)
"""


def run_with(folder):
    done = subprocess.run([sys.executable, "-c", FAKE, str(folder)], capture_output=True, text=True)
    return done.stdout.split(), done.stderr


@pytest.fixture
def dgl_2(tmp_path):
    """A package like DGL 2: it imports graphbolt, which fails without a file of torch's version."""
    folder = tmp_path / "dgl" / "graphbolt"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("from . import graphbolt\n")
    (folder / "__init__.py").write_text("from . import base\n")
    (folder / "base.py").write_text(
        "from pathlib import Path\n"
        f"if not Path(__file__).with_name('libgraphbolt_pytorch_{torch.__version__.partition('+')[0]}.so').exists():\n"
        "    raise FileNotFoundError('Cannot find DGL C++ graphbolt library')\n"
    )
    return tmp_path


def test_a_graphbolt_that_is_not_compiled_for_this_torch_is_empty(dgl_2):
    output, errors = run_with(dgl_2)
    assert output == ["empty", "False"], errors


def test_one_that_is_compiled_for_it_is_imported(dgl_2):
    version = torch.__version__.partition("+")[0]
    (dgl_2 / "dgl" / "graphbolt" / f"libgraphbolt_pytorch_{version}.so").touch()
    output, errors = run_with(dgl_2)
    assert output and output[0].endswith("graphbolt/__init__.py"), errors


def test_the_installed_dgl_is_the_one_of_this_python():
    expected = "1." if sys.version_info < (3, 12) else "2."
    assert importlib.metadata.version("dgl").startswith(expected)
