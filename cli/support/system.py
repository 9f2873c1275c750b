"""What this installation can compute with: versions, devices, threads, folders."""

import importlib.metadata
import os
import platform
from typing import Any

from .terminal import echo

PACKAGES = ("grpe-dgl", "torch", "dgl", "numba", "llvmlite", "numpy", "rdkit")


def describe_system() -> dict[str, Any]:
    """Return versions, devices, what DGL can do, threads and folders as plain values."""
    import numba
    import torch

    from grpe_dgl.data.batching.dgl_devices import dgl_has
    from grpe_dgl.io.workers import cores

    gpus = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
        "devices": ["cpu", *(f"cuda:{i}: {gpu.name}, {gpu.total_memory / 1e9:.0f} GB" for i, gpu in enumerate(gpus))],
        "torch_cuda": torch.version.cuda,
        "dgl_cuda": dgl_has(torch.device("cuda")),
        "cores": cores(),
        "torch_threads": torch.get_num_threads(),
        "numba_threads": numba.get_num_threads(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "kernel_cache": kernel_cache(),
    }


def kernel_cache() -> str | None:
    """Return the folder that compiled kernels are kept in; None where none can be written."""
    from grpe_dgl.data.batching import groups

    cache = getattr(groups._partition, "_cache", None)
    path = getattr(cache, "cache_path", None)
    return None if path is None else str(path)


def show_system() -> None:
    """Print `describe_system` in lines."""
    found = describe_system()
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    built = f"CUDA {found['torch_cuda']}" if found["torch_cuda"] else "no CUDA"
    dgl = "CPU and CUDA" if found["dgl_cuda"] else "the CPU alone: GRPE uses padded batches on a GPU, which need no DGL"
    omp = f", OMP_NUM_THREADS {found['omp_num_threads']}" if found["omp_num_threads"] else ""
    lines = {
        "python": f"{found['python']}, {found['platform']}",
        "versions": versions,
        "devices": "; ".join(found["devices"]),
        "torch": f"built with {built}",
        "DGL": f"runs on {dgl}",
        "threads": f"{found['cores']} cores, torch {found['torch_threads']}, numba {found['numba_threads']}{omp}",
        "kernel cache": found["kernel_cache"] or "none can be written: kernels are compiled at each start",
    }
    for key, value in lines.items():
        echo(f"{key:13} {value}")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
