"""Memory and operations of training steps on devices that are not here: ``python -m benchmarks.plan``.

The steps run through the real step on torch's meta device, which has shapes and no numbers. Memory is what the tensors
alive take at the peak: weights, gradients, AdamW's moments and activations. ``--check`` compares that count with the
memory that a process really takes for the same steps on the CPU.
"""

import argparse
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.live_memory import LiveMemory
from benchmarks.measure import report
from grpe_dgl.data.batching.groups import group_by_size
from grpe_dgl.data.batching.parts import Part
from grpe_dgl.nn import GRPE
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.precision import MetaAutocast
from grpe_dgl.training.step import StepBatch, apply_gradients, compute_gradients

VOCABULARY, EDGE_TYPES, MAX_DISTANCE, RELATIONS = (119, 5, 12, 12, 10, 6, 6, 2, 2), 60, 5, 68
CARDS = (16, 24, 40, 80)
USABLE = 0.9
"""The part of a card's memory that tensors can have: the rest is CUDA's context, workspaces and fragmentation."""


class Data(NamedTuple):
    """Sizes like a dataset's, nodes without the virtual one: a gamma distribution, clipped."""

    shape: float
    mean: float
    most: int

    def sizes(self, count: int) -> Any:
        """Return the numbers of nodes of `count` graphs, virtual nodes included."""
        drawn = np.random.default_rng(0).gamma(self.shape, self.mean / self.shape, count)
        return drawn.round().clip(4, self.most).astype(np.int64) + 1


DATA = {"molhiv": Data(4.5, 25.5, 222), "pcqm4m": Data(20.0, 14.1, 51)}


class Plan(NamedTuple):
    """One row of the table."""

    preset: str
    data: str
    batch_size: int
    precision: Literal["float32", "bf16"] = "bf16"
    checkpoint_layers: bool = False
    layers: int | None = None


class Step:
    """A model with a batch of random graphs of some sizes on a device."""

    def __init__(self, plan: Plan, device: str) -> None:
        self.plan, self.device = plan, torch.device(device)
        sizes = {} if plan.layers is None else {"layers": plan.layers}
        with self.device:
            self.model = GRPE.from_preset(
                plan.preset,
                num_outputs=1,
                max_distance=MAX_DISTANCE,
                num_edge_types=EDGE_TYPES,
                node_vocabulary=VOCABULARY,
                dropout=0.1,
                attention_dropout=0.1,
                **sizes,
            ).train()
        self.model.checkpoint_layers = plan.checkpoint_layers
        if plan.precision == "bf16" and self.device.type == "meta":
            for layer in self.model.layers:  # computed again in the backward pass, outside the step's own autocast
                layer.forward = _in_half_precision(layer.forward)
        self.training = TrainingRecipe(
            batch_size=plan.batch_size, epochs=1, loss="l1", clip=5.0, precision=plan.precision
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6)
        self.batch = self._batch()

    def _batch(self) -> StepBatch:
        sizes = DATA[self.plan.data].sizes(self.plan.batch_size)
        parts = [self._part(sizes, places) for places in group_by_size(sizes)]
        counts = torch.tensor([float(len(sizes))], dtype=torch.float64)
        return StepBatch(parts, counts, torch.arange(len(sizes)))

    def _part(self, sizes: Any, places: Any) -> Part:
        graphs, most = len(places), int(sizes[places].max())
        with self.device:
            nodes = torch.zeros(graphs, most, len(VOCABULARY), dtype=torch.int32)
            relation = torch.randint(RELATIONS, (graphs, most, most), dtype=torch.uint8)
            mask = torch.ones(graphs, most, dtype=torch.bool)
            label = torch.zeros(graphs, 1)
        return Part(PaddedBatch(nodes, relation, mask), label, places, sizes[places] - 1)

    def run(self) -> None:
        """Make one update."""
        self.optimizer.zero_grad(set_to_none=True)
        compute_gradients(self.model, self.batch, self.training, Processes(device=self.device))
        apply_gradients(self.optimizer, self.training, 1e-6)


def _in_half_precision(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def call(*arguments: Any) -> torch.Tensor:
        with MetaAutocast():
            return function(*arguments)

    return call


def count(plan: Plan) -> tuple[int, int]:
    """Return the bytes at the peak of a step and its floating-point operations, without computing a number."""
    step = Step(plan, "meta")
    parameters = list(step.model.parameters())
    whole = step.batch
    step.batch = whole._replace(parts=whole.parts[:1])
    step.run()  # makes the optimiser's moments
    step.optimizer.zero_grad(set_to_none=True)
    step.batch = whole
    with LiveMemory() as memory:
        memory.watch(*parameters, *step.model.buffers())
        memory.watch(*(value for state in step.optimizer.state.values() for value in state.values()))
        memory.watch(*(tensor for part in step.batch.parts for tensor in part.tensors()))
        step.run()
    with FlopCounterMode(display=False) as flops:  # apart: it keeps tensors alive
        step.run()
    return memory.peak, int(flops.get_total_flops())


def measure(plan: Plan) -> int:
    """Return the bytes that a process takes for a step on the CPU, above what it takes before the model is made."""
    torch.set_num_threads(1)
    Step(plan._replace(batch_size=2, layers=1), "cpu").run()  # loads libraries and starts threads
    before = _status("VmRSS")
    step = Step(plan, "cpu")
    step.run()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    step.run()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure_in_a_process(plan: Plan) -> int:
    """Return `measure` of a plan, in a process of its own."""
    # glibc keeps freed blocks of up to 32 MB for itself unless this is set; GPUs' allocators reuse theirs.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (plan,))


CHECKED = (
    Plan("standard", "molhiv", 64, "float32", layers=2),
    Plan("standard", "molhiv", 64, "float32", layers=2, checkpoint_layers=True),
    Plan("standard", "pcqm4m", 256, "float32", layers=2),
)
TABLE = (
    *(Plan("standard", "molhiv", size) for size in (64, 256, 1024)),
    *(Plan("standard", "pcqm4m", size) for size in (256, 1024, 4096)),
    *(Plan("large", "molhiv", size) for size in (64, 256)),
    *(Plan("large", "pcqm4m", size) for size in (256, 1024, 4096)),
    Plan("large", "pcqm4m", 4096, checkpoint_layers=True),
    Plan("large", "pcqm4m", 1024, "float32"),
)


def row(plan: Plan) -> dict[str, Any]:
    """Return a row of the table of docs/scaling.md."""
    peak, flops = count(plan)
    fits = [f"{card}" for card in CARDS if peak <= USABLE * card * 1e9]
    return {
        "model": plan.preset,
        "sizes like": plan.data,
        "batch": plan.batch_size,
        "precision": plan.precision,
        "checkpointed": "yes" if plan.checkpoint_layers else "no",
        "GB": f"{peak / 1e9:.1f}",
        "TFLOP": f"{flops / 1e12:.2f}",
        "fits on GB": f"{fits[0]} and more" if fits else "none",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the count with processes on the CPU")
    if parser.parse_args().check:
        rows = []
        for plan in CHECKED:
            counted, real = count(plan)[0], measure_in_a_process(plan)
            rows.append({**plan._asdict(), "counted MB": f"{counted / 1e6:.0f}", "process MB": f"{real / 1e6:.0f}",
                         "ratio": f"{counted / real:.3f}"})  # fmt: skip
        report("counted and real peak of a step", rows)
        return
    for plan in TABLE:
        report("a training step", [row(plan)])


if __name__ == "__main__":
    main()
