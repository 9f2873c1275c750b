import os
from pathlib import Path

# Tests run in parallel processes on tensors of a few hundred numbers: more threads each would only get in the way.
# DGL and numba bring OpenMP runtimes of their own, which read this when loaded; threads that wait must not spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest

import grpe_dgl as grpe_dgl  # before any test imports dgl, which needs it on Python 3.12

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real datasets, which stands beside the project on the machines that develop it."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the folder of real datasets is not beside the project")
    return SHARED / "data"


@pytest.fixture(scope="session")
def shared_raw(shared_data: Path) -> Path:
    """The publishers' raw files."""
    return shared_data / "raw"
