"""Which ``torchrun`` started a run, so that the processes it starts again after a failure continue the run."""

import os
import socket
from pathlib import Path

import torch

from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.training.distributed import Processes

FILE = ".torchrun"
"""In the folder of a run that is not finished: the launchers of its processes, one per line."""


def launchers(processes: Processes) -> list[str]:
    """Return the launchers of all processes; all of them must call this together. Empty without ``torchrun``.

    A launcher is the ``torchrun`` of one machine: its host, process number and start time, which stay the same when it
    starts its processes again. ``TORCHELASTIC_RESTART_COUNT`` would not do: it stays 0 on a machine whose processes
    are started again because those of another machine failed.
    """
    own = _launcher().encode()
    gathered = processes.gather(torch.tensor(list(own), dtype=torch.uint8))
    return sorted({bytes(row.tolist()).decode() for row in gathered} - {""})


def began(folder: Path, launched_by: list[str]) -> bool:
    """Whether one of these launchers began the unfinished run in a folder, or continued it."""
    try:
        before = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return not set(before).isdisjoint(launched_by)


def note(folder: Path, launched_by: list[str]) -> None:
    """Write the launchers into the folder of a run that they begin or continue."""
    if launched_by:
        write_text(folder / FILE, "".join(f"{launcher}\n" for launcher in launched_by))
    else:
        forget(folder)


def forget(folder: Path) -> None:
    """Remove what `note` wrote: the run is finished."""
    (folder / FILE).unlink(missing_ok=True)


def _launcher() -> str:
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return ""
    parent = os.getppid()
    return f"{socket.gethostname()} {parent} {_started_at(parent)}"


def _started_at(process: int) -> str:
    """Return when a process started, in ticks since the machine started; process numbers are used again."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()  # a name may contain spaces
    except OSError:  # not Linux
        return ""
    return fields[19]
