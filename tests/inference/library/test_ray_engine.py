"""A library on a Ray cluster: the same parts as one process makes, also when workers and nodes are lost."""

import importlib.util
import subprocess
import sys

import pytest

from grpe_dgl.inference.library.run import run_library
from tests import trained
from tests.inference.library.faults import run_with_faults
from tests.inference.library.small_library import contents, opened, read_parts, write_parquet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the package ray is not installed"),
    pytest.mark.filterwarnings("ignore"),  # of Ray's own
]
PROGRAM = """
import sys
from pathlib import Path
from grpe_dgl.inference.library.run import run_library
from tests.inference.library.small_library import opened
model, out, address, *files = sys.argv[1:]
library = opened([Path(file) for file in files], Path(out), Path(model))
outcome = run_library(library, engine="ray", address=address if address != "none" else None, workers=None)
for result in outcome.errors:
    print("failed", result.number, result.error)
for retry in outcome.retried:
    print("retried", retry.number, *retry.lost)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    model = trained.save(folder / "x.ckpt")
    files = write_parquet(folder / "in", [900, 700, 400])
    run_library(opened(files, folder / "one", model))
    return folder, model, files


def command(model, out, address, files):
    return [sys.executable, "-c", PROGRAM, str(model), str(out), address, *map(str, files)]


def test_a_worker_and_a_node_are_lost(library):
    folder, model, files = library
    out = folder / "faults"
    finished, worker, node = run_with_faults(command(model, out, "{address}", files), out, timeout=300)
    assert finished.returncode == 0, finished.stderr
    assert contents(out) == contents(folder / "one")
    assert read_parts(out)["id"].to_pylist() == list(range(2000))
    retried = [line for line in finished.stdout.splitlines() if line.startswith("retried")]
    assert any(f"process {worker} " in line for line in retried)
    assert any(f"node {node}" in line for line in retried) and "failed" not in finished.stdout


def test_a_cluster_is_started_here_and_a_broken_file_reported(library):
    folder, model, files = library
    broken = folder / "in" / "broken.parquet"
    content = bytearray(files[2].read_bytes())
    content[4:600] = bytes(596)
    broken.write_bytes(content)
    files = [*files[:2], broken]
    finished = subprocess.run(
        command(model, folder / "here", "none", files), capture_output=True, text=True, timeout=300, check=True
    )
    failed = [line for line in finished.stdout.splitlines() if line.startswith("failed")]
    assert [line.split()[1] for line in failed] == ["16"] and str(broken) in failed[0]
    here, one = contents(folder / "here"), contents(folder / "one")
    assert all(here[name] == one[name] for name in sorted(one)[:16]) and "part-00016.parquet" not in here
