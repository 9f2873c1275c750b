"""Check a GPU against the CPU and time training steps on it: ``python -m benchmarks.gpu [--device cuda:1]``.

First the same three updates, without dropout, on both devices: losses must agree to 1e-3 in float32. Then the time of a
step of GRPE-Small and Standard, in groups of like size beside one padded batch, in float32 and bf16, and compiled.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.measure import report
from benchmarks.plan import DATA, EDGE_TYPES, MAX_DISTANCE, VOCABULARY
from grpe_dgl.data.batching.groups import MOST_GROUPS
from grpe_dgl.data.batching.parts import Division, Part, collate_parts
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.nn import GRPE
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.prefetch import Transfer
from grpe_dgl.training.step import StepBatch, apply_gradients, compute_gradients
from grpe_dgl.views import PairView


def random_dataset(name: str, count: int, folder: Path) -> GraphArrays:
    """Return `count` random trees of a dataset's sizes, written and read as any dataset."""
    import dgl

    import grpe_dgl.data
    from grpe_dgl.schema import Task

    rng = np.random.default_rng(0)
    graphs = []
    for n in DATA[name].sizes(count) - 1:
        child = np.arange(1, n)
        graph = dgl.graph((child, np.maximum(child - rng.integers(1, 4, n - 1), 0)), num_nodes=int(n))
        graph.ndata["feat"] = torch.from_numpy(np.stack([rng.integers(0, size, n) for size in VOCABULARY], 1))
        graph.edata["feat"] = torch.from_numpy(rng.integers(0, EDGE_TYPES, n - 1))
        graphs.append(graph)
    grpe_dgl.data.write(
        folder,
        graphs,
        rng.normal(size=(count, 1)),
        {"train": np.arange(count)},
        task=Task(level="graph", kind="regression", targets=("y",), metric="mae"),
        node_vocabulary=VOCABULARY,
        num_edge_types=EDGE_TYPES,
    )
    return grpe_dgl.data.load(folder).store


class Run:
    """A model, its optimiser and batches on a device."""

    def __init__(
        self,
        preset: str,
        arrays: GraphArrays,
        device: torch.device,
        *,
        batch_size: int,
        precision: Literal["float32", "bf16"] = "float32",
        most_groups: int = MOST_GROUPS,
        dropout: float = 0.1,
        compiled: bool = False,
    ) -> None:
        torch.manual_seed(0)
        self.processes = Processes(device=device)
        self.model = GRPE.from_preset(
            preset,
            num_outputs=1,
            max_distance=MAX_DISTANCE,
            num_edge_types=EDGE_TYPES,
            node_vocabulary=VOCABULARY,
            dropout=dropout,
            attention_dropout=dropout,
        ).to(device)
        if compiled:
            self.model.compile(dynamic=True)
        self.training = TrainingRecipe(batch_size=batch_size, epochs=1, loss="l1", clip=5.0, precision=precision)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.division = Division(padded=True, most_groups=most_groups)
        self.arrays, self.transfer = arrays, Transfer(device)

    def step(self, index: Any) -> torch.Tensor:
        """Make one update and return its loss, which stays on the device."""
        parts = collate_parts(self.arrays, index, PairView(max_distance=MAX_DISTANCE), self.division)
        batch = StepBatch.of(parts, self.arrays.schema, "l1")
        moved: list[Part] = self.transfer.receive(self.transfer.send(batch.parts))
        self.optimizer.zero_grad(set_to_none=True)
        total, normaliser = compute_gradients(self.model, batch._replace(parts=moved), self.training, self.processes)
        apply_gradients(self.optimizer, self.training, 1e-4)
        return total / normaliser


def check(arrays: GraphArrays, device: torch.device, batch_size: int = 64) -> None:
    """Raise unless three updates on the device have the losses of the CPU."""
    losses = []
    for place in (torch.device("cpu"), device):
        run = Run("small", arrays, place, batch_size=batch_size, dropout=0.0)
        losses.append([float(run.step(np.arange(batch_size) + batch_size * update)) for update in range(3)])
    print(f"losses of three updates: cpu {losses[0]}, {device} {losses[1]}")
    if not np.allclose(losses[0], losses[1], rtol=1e-3):
        raise SystemExit("the device does not agree with the CPU")


def timed(run: Run, batch_size: int, rounds: int) -> float:
    """Return the milliseconds of a step, assembly included, without prefetching."""
    indices = [np.arange(batch_size) + batch_size * number for number in range(4)]
    for index in indices:  # warm up, all shapes
        run.step(index)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for number in range(rounds):
        run.step(indices[number % 4])
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / rounds * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(
            f"no CUDA device found (torch {torch.__version__}); this benchmark needs one. docs/gpu.md tells how to "
            "install a torch with CUDA, docs/scaling.md what to expect, and `grpe info --system` what is installed"
        )
    import tempfile

    device = torch.device(options.device)
    with tempfile.TemporaryDirectory() as folder:
        arrays = random_dataset("molhiv", 1024, Path(folder) / "molhiv")
        check(arrays, device)
        rows = []
        for preset, batch_size in (("small", 256), ("standard", 64), ("standard", 256)):
            for precision in ("float32", "bf16"):
                settings: dict[str, Any] = {"batch_size": batch_size, "precision": precision}
                row: dict[str, Any] = {"model": preset, "batch": batch_size, "precision": precision}
                for name, more in (
                    ("grouped", {}),
                    ("dense, one piece", {"most_groups": 1}),
                    ("grouped, compiled", {"compiled": True}),
                ):
                    torch.cuda.reset_peak_memory_stats(device)
                    run = Run(preset, arrays, device, **settings, **more)
                    row[f"{name} ms"] = f"{timed(run, batch_size, options.rounds):.1f}"
                    row[f"{name} GB"] = f"{torch.cuda.max_memory_allocated(device) / 1e9:.2f}"
                    del run
                rows.append(row)
        report(f"training steps on {torch.cuda.get_device_name(device)}, sizes like molhiv", rows)


if __name__ == "__main__":
    main()
