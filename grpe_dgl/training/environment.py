"""What a run was computed with: processor, devices, threads, versions, and the most memory it held."""

import importlib.metadata
import os
import platform
import resource
import sys
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.io.workers import cores
from grpe_dgl.training.distributed import Processes

PACKAGES = ("grpe-dgl", "torch", "dgl", "numba", "numpy", "rdkit", "scikit-learn")
_RESET_PEAK = "5"  # what Linux takes in clear_refs to count the peak of the resident memory anew


def hardware(processes: Processes) -> dict[str, Any]:
    """Return the processor, its cores, the threads and devices that are in use, and the machine's memory."""
    device = processes.device
    return {
        "processor": processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "processes": processes.world_size,
        "device": device.type,
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "memory_bytes": _machine_memory(),
        "platform": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute; torch's with its build, as 2.13.0+cu130."""
    found = {name: _version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found, "torch": str(torch.__version__)}


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name."""
    try:
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"


class PeakMemory:
    """The most memory that was held since this object was made: of the GPU on one, else of the process.

    The memory of a process is resident memory: Python and its libraries, and the parts of the dataset's files that were
    read, belong to it. Where the system cannot count it anew, it is the peak since the process started, and
    `since` is ``"process"`` instead of ``"run"``.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.of = "gpu" if device.type == "cuda" else "process"
        self.since = "run"
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            return
        try:
            Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
        except OSError:
            self.since = "process"

    def read(self) -> int:
        """Return the peak so far, in bytes."""
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device)
        try:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return 1024 * int(line.split()[1])
        except OSError:
            pass
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def _machine_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
