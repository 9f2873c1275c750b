"""Molecules per second of ``grpe predict``, end to end, and where the time goes; ``python -m benchmarks.inference``.

Needs the SMILES of ogbg-molhiv (``--molhiv FILE``, OGB's ``mapping/mol.csv.gz``). Weights are random: they
change no time.
"""

import argparse
import csv
import gzip
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import report, save
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.data.molecules.smiles import graphs_of_smiles
from grpe_dgl.inference.inputs import SIZE, read
from grpe_dgl.inference.predictor import Predictor, batches_by_size
from grpe_dgl.recipe import load_recipe

PRESETS = {"small": 40_000, "standard": 3_000}  # molecules for each: about a minute


def checkpoint(preset: str) -> Checkpoint:
    """Return a model of a preset for molhiv, with random weights."""
    schema = schema_of("molhiv")
    recipe = load_recipe("molhiv", {"model.preset": preset}).fit_to_task(schema.task)
    model = build_model(recipe.model, schema)
    return Checkpoint(recipe=recipe, schema=schema, weights=model.state_dict())


def parts(predictor: Predictor, smiles: list[str]) -> dict[str, float]:
    """Return the seconds of each part of predicting, one after another in this process."""
    seconds = dict.fromkeys(("reading SMILES", "distances", "assembly", "forward pass"), 0.0)
    for first in range(0, len(smiles), SIZE):
        begin = time.perf_counter()
        graphs_of_smiles(smiles[first : first + SIZE])
        reading = time.perf_counter() - begin
        begin = time.perf_counter()
        chunk = read(smiles[first : first + SIZE])
        seconds["reading SMILES"] += reading
        seconds["distances"] += max(0.0, time.perf_counter() - begin - reading)
        for places in batches_by_size(np.diff(chunk.arrays.node_offsets).astype(np.int64) + 1):
            begin = time.perf_counter()
            batch = collate(chunk.arrays, places, predictor.view)
            middle = time.perf_counter()
            predictor.outputs(batch)
            seconds["assembly"] += middle - begin
            seconds["forward pass"] += time.perf_counter() - middle
    return seconds


def end_to_end(path: Path, table: Path, workers: int) -> float:
    """Return the seconds of the whole command, start-up included."""
    command = [sys.executable, "-m", "grpe_dgl", "predict", str(path), str(table)]
    begin = time.perf_counter()
    options = ["--workers", str(workers), "--out", str(table.with_name("out.csv")), "--force"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--molhiv", type=Path, required=True, metavar="FILE", help="ogbg_molhiv/mapping/mol.csv.gz")
    parser.add_argument("--molecules", type=int, help="how many to predict (default: enough for about a minute)")
    parser.add_argument("--preset", choices=list(PRESETS), action="append", help="default: both")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, too")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rates: list[dict[str, Any]] = []
    shares: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for preset in options.preset or PRESETS:
            count = options.molecules or PRESETS[preset]
            with gzip.open(options.molhiv, "rt", newline="") as file:
                smiles = [row["smiles"] for row in itertools.islice(csv.DictReader(file), count)]
            table = Path(scratch) / "molecules.csv"
            table.write_text("smiles\n" + "\n".join(smiles) + "\n")
            path = Path(scratch) / f"{preset}.ckpt"
            checkpoint(preset).save(path)
            predictor = Predictor(checkpoint(preset))
            parts(predictor, smiles[:200])  # compiles what is not yet compiled
            row: dict[str, Any] = {"model": preset, "molecules": len(smiles)}
            for workers in (1, 2):
                row[f"per second, {workers} workers"] = round(len(smiles) / end_to_end(path, table, workers))
            rates.append(row)
            seconds = parts(predictor, smiles)
            total = sum(seconds.values())
            shares.append({"model": preset, **{name: f"{value / total:.0%}" for name, value in seconds.items()}})
    tables = {"molecules per second, the whole command": rates, "where the time goes, in one process": shares}
    for title, rows in tables.items():
        report(title, rows)
    save(options.json, tables)


if __name__ == "__main__":
    main()
