"""A ZINC epoch of every model of the paper's table, side by side: ``python -m benchmarks.families``.

A training step (assemble a batch of 128 molecules, forward, backward, Adam) of every variant of the recipe
``table_zinc`` is timed in turns with GRPE-Small's, on a sample of the molecules. The seconds of an epoch are the median
step times the 79 steps of ZINC-12k's 10,000 training molecules; no whole epoch is run. The column `batch %` is the part
of a step that assembling its batch takes.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import grpe_dgl.data
from benchmarks.measure import arguments, interleaved, report, save
from benchmarks.workloads import ZINC_EDGE_TYPES, ZINC_VOCABULARY, zinc_graphs
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.families import ModelSettings
from grpe_dgl.recipe import load_recipe

BATCH, STEPS = 128, -(-10_000 // 128)
SAMPLE = 4 * BATCH


def main() -> None:
    """Measure every variant, or those whose name contains ``--only``."""
    options = arguments(__doc__ or "")
    recipe = load_recipe("table_zinc")
    chosen = [name for name in recipe.variants if options.only is None or options.only in name or name == "grpe"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zinc"
        graphs = zinc_graphs(SAMPLE)
        splits = {"train": range(SAMPLE), "valid": range(0), "test": range(0)}
        grpe_dgl.data.write(
            path, graphs, np.zeros(SAMPLE), splits, task="regression", node_vocabulary=ZINC_VOCABULARY,
            num_edge_types=ZINC_EDGE_TYPES,
        )  # fmt: skip
        runs: dict[str, Callable[[], object]] = {}
        for name in chosen:
            assemble, step = _runs(path, recipe.variant(name).model)
            runs |= {f"{name} batch": assemble, name: step}
        seconds = interleaved(runs, options.rounds, warm_up=1)
    rows = [
        {
            "model": name,
            "step ms": round(1e3 * seconds[name], 1),
            "epoch s": round(STEPS * seconds[name], 1),
            "/ grpe": round(seconds[name] / seconds["grpe"], 2),
            "batch %": round(100 * seconds[f"{name} batch"] / seconds[name], 1),
        }
        for name in chosen
    ]
    report(f"ZINC-12k, batches of {BATCH}: an epoch is {STEPS} times the median step", rows)
    save(options.json, {"families": rows})


def _runs(path: Path, settings: ModelSettings) -> tuple[Callable[[], Any], Callable[[], object]]:
    """Return a function that assembles a batch, and one that takes a whole training step."""
    prepare_encodings(Store(path), settings.view.encodings)
    data = grpe_dgl.data.load(path, view=settings.view)
    torch.manual_seed(0)
    model = build_model(settings, data.schema).train()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-6)
    order = np.random.default_rng(0)

    def assemble() -> Any:
        return data.batch(order.choice(SAMPLE, BATCH, replace=False)).graph

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(assemble()).abs().mean().backward()
        optimizer.step()

    return assemble, step


if __name__ == "__main__":
    main()
