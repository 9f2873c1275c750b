import os
import subprocess
import sys

import torch

from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.launcher import began, forget, launchers, note


class TwoMachines(Processes):
    """Process 0 of two; the other one's text is fixed."""

    def gather(self, rows):
        return [rows, torch.tensor(list(b"other 7 99"), dtype=torch.uint8)]


def test_without_torchrun_there_is_no_launcher_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert launchers(SINGLE) == []
    note(tmp_path, [])
    assert os.listdir(tmp_path) == [] and not began(tmp_path, [])


def test_a_launcher_is_the_parent_process_and_its_start(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setattr(os, "getppid", os.getpid)
    (own,) = launchers(SINGLE)
    program = (
        "import os; os.environ['TORCHELASTIC_RUN_ID'] = 'none'; from grpe_dgl.training.launcher import _launcher; "
    )
    seen = subprocess.run([sys.executable, "-c", program + "print(_launcher())"], capture_output=True, text=True)
    assert seen.stdout.strip() == own, seen.stderr
    assert launchers(TwoMachines()) == sorted([own, "other 7 99"])


def test_a_run_is_continued_by_one_of_its_launchers_alone(tmp_path):
    note(tmp_path, ["a 1 10", "b 2 20"])
    assert began(tmp_path, ["b 2 20", "c 3 30"])  # machine a was replaced
    assert not began(tmp_path, ["a 1 11"])  # the same process number, used again
    assert not began(tmp_path, [])
    forget(tmp_path)
    assert not began(tmp_path, ["a 1 10"]) and os.listdir(tmp_path) == []
