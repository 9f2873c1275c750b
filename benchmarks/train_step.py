"""Time and memory of whole optimisation steps: ``python -m benchmarks.train_step``."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dgl
import torch

from benchmarks import workloads
from benchmarks.measure import interleaved, ratios, run_tables
from grpe_dgl.nn import GRPE


def step(
    preset: str, pairs: dgl.DGLGraph, edge_types: int, vocabulary: tuple[int, ...], backend: str, level: str = "graph"
) -> Callable[[], None]:
    """Return a function that takes one step: forward, backward, AdamW."""
    torch.manual_seed(0)
    model = GRPE.from_preset(
        preset,
        num_outputs=1,
        level=level,
        max_distance=workloads.MAX_DISTANCE,
        num_edge_types=edge_types,
        node_vocabulary=vocabulary,
        backend=backend,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(pairs).square().mean().backward()
        optimizer.step()

    return run


def small(rounds: int) -> list[dict[str, Any]]:
    settings = (workloads.zinc(128), workloads.ZINC_EDGE_TYPES, workloads.ZINC_VOCABULARY)
    runs = {backend: step("small", *settings, backend) for backend in ("fused", "dense", "dgl")}
    return [{"step": "GRPE-Small, ZINC, batch 128", **ratios(interleaved(runs, rounds), "fused")}]


def standard(rounds: int) -> list[dict[str, Any]]:
    settings = (workloads.molhiv(64), workloads.MOLHIV_EDGE_TYPES, workloads.MOLHIV_VOCABULARY)
    runs = {backend: step("standard", *settings, backend) for backend in ("fused", "dense")}
    seconds = interleaved(runs, min(rounds, 5), warm_up=1)  # seconds each
    return [{"step": "GRPE-Standard, molhiv, batch 64", **ratios(seconds, "fused")}]


def memory(_: int) -> list[dict[str, Any]]:
    """Measure each backend's peak in a process of its own."""
    extra = {}
    for backend in ("fused", "dense", "dgl"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            extra[backend] = pool.apply(peak_of_step, (backend, torch.get_num_threads()))
    row: dict[str, Any] = {"step": "GRPE-Small, CLUSTER-like, batch 32"}
    row |= {f"{backend} MB": round(value / 1e6, 1) for backend, value in extra.items()}
    row |= {f"{backend} / fused": round(extra[backend] / extra["fused"], 2) for backend in ("dense", "dgl")}
    return [row]


def peak_of_step(backend: str, threads: int) -> int:
    """Return the bytes that a step takes at its peak, above the memory of the process before it."""
    torch.set_num_threads(threads)
    settings = (workloads.CLUSTER_EDGE_TYPES, workloads.CLUSTER_VOCABULARY, backend, "node")
    step("small", workloads.cluster(1), *settings)()  # compiles the kernels and starts the threads
    run = step("small", workloads.cluster(32), *settings)
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _status("VmRSS")
    run()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


TABLES = {
    "optimisation step, small": small,
    "optimisation step, standard": standard,
    "peak extra memory of a step": memory,
}

if __name__ == "__main__":
    run_tables(TABLES, __doc__ or "")
