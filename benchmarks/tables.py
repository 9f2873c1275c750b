"""Tables of molecules, from scratch, from the shipped encoder and beside chemprop: ``python -m benchmarks.tables DIR``.

DIR holds tables such as ``esol.csv``: a column ``smiles``, every other column a target. Each is
divided once by scaffolds; all sides get the same rows for train, valid and test, and the same seeds. ``--peer`` names
the ``chemprop`` executable of an environment of its own, which is run with its defaults; without it our side runs
alone. ``--sizes 100 300 1000`` trains on that many training molecules, drawn at random with each seed. The seconds are
those of the whole command, reading, training and evaluation, on one thread. Every finished cell is a file in ``--out``;
a second call reads it and goes on with the rest.
"""

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from benchmarks.measure import report
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.identity import graph_hashes
from grpe_dgl.data.store.store import Store
from grpe_dgl.pretrained import shipped_models

CHEMPROP, SCRATCH = "chemprop", "from scratch"
ENVIRONMENT = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
Floats = npt.NDArray[np.float64]


def tables_of(folder: Path, only: list[str] | None) -> list[Path]:
    """Return the tables NAME.csv of a folder, in the order of their names, or those that are named."""
    names = only or sorted(path.stem for path in folder.glob("*.csv"))
    return [folder / f"{name}.csv" for name in names]


class Table:
    """A table, its scaffold split, and which of its molecules were pretrained on."""

    def __init__(self, file: Path, out: Path) -> None:
        self.name, self.out = file.stem, out / file.stem
        with file.open(newline="", encoding="utf-8") as stream:
            self.rows = list(csv.DictReader(stream))
        self.targets = [name for name in self.rows[0] if name != "smiles"]
        self.is_binary = all(row[name] in ("", "0", "1", "0.0", "1.0") for row in self.rows for name in self.targets)
        folder = self.out / "data" / self.name
        if not folder.exists():
            targets = [word for name in self.targets for word in ("--target", name)]
            task = ["--task", "classification"] if self.is_binary else []
            grpe("preprocess", "csv", file, *targets, *task, "--split", "scaffold", "--data", self.out / "data")
        store = Store(folder)
        row = np.asarray(store.row).astype(np.int64)
        self.split = {name: row[index] for name, index in store.splits.items()}
        models = [load_checkpoint(name).data_identity for name in shipped_models()]
        known = [model.training_graphs for model in models if model is not None and model.training_graphs is not None]
        seen = np.isin(graph_hashes(store, np.arange(len(store))), np.concatenate(known)) if known else row < 0
        self.seen = set(row[seen].tolist())

    def write(self, size: int | None, seed: int) -> Path:
        """Write the rows with a column of splits, of the training rows only `size`."""
        path = self.out / f"{self.name}-{size or 'all'}-{seed}.csv"
        train = self.split["train"]
        if size is not None:
            train = np.random.default_rng(seed).permutation(train)[:size]
        names = {int(i): "train" for i in train} | {int(i): "val" for i in self.split["valid"]}
        names |= {int(i): "test" for i in self.split["test"]}
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, ["smiles", *self.targets, "split"])
            writer.writeheader()
            writer.writerows({**self.rows[i], "split": names[i]} for i in sorted(names))
        return path

    def test_rows(self) -> list[int]:
        """Return the rows of the test split in the order of the table."""
        return sorted(int(i) for i in self.split["test"])

    def score(self, predictions: Floats, rows: list[int]) -> float:
        """Return the RMSE, or the mean over targets of the area under the ROC curve, of predictions (rows, targets)."""
        cells = [[self.rows[i][name] for name in self.targets] for i in rows]
        labels = np.array([[float(cell) if cell else np.nan for cell in row] for row in cells])
        known = ~np.isnan(labels)
        if not self.is_binary:
            return float(np.sqrt(((predictions - labels)[known] ** 2).mean()))
        scores = []
        for t in range(len(self.targets)):
            own = labels[known[:, t], t]
            if len(np.unique(own)) == 2:
                scores.append(roc_auc_score(own, predictions[known[:, t], t]))
        return float(np.mean(scores))


def grpe(*words: object) -> None:
    """Run a command of ours, quietly."""
    command = [sys.executable, "-m", "grpe_dgl", *map(str, words)]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds_of(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds by the clock and of the processor, children included."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=False, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, cpu


def column(path: Path, names: list[str]) -> Floats:
    """Return columns of a CSV as numbers, (rows, columns)."""
    with path.open(newline="", encoding="utf-8") as stream:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(stream)])


def run_cell(table: Table, method: str, size: int | None, seed: int, peer: Path | None) -> dict[str, Any]:
    """Train one model; return its score on test, the same without pretraining molecules, and its seconds."""
    file = table.write(size, seed)
    folder = table.out / f"run-{size or 'all'}-{method.replace(' ', '_')}-{seed}"
    rows = table.test_rows()
    if method == CHEMPROP:
        kind = "classification" if table.is_binary else "regression"
        command = [str(peer), "train", "-i", str(file), "-s", "smiles", "--target-columns", *table.targets]
        command += ["--splits-column", "split", "-t", kind, "--pytorch-seed", str(seed), "--accelerator", "cpu"]
        clock, cpu = seconds_of([*command, "-n", "0", "-o", str(folder)])
        predictions = column(folder / "model_0" / "test_predictions.csv", table.targets)
    else:
        targets = [word for name in table.targets for word in ("--target", name)]
        task = ["--task", "classification"] if table.is_binary else []
        start = ["--set", "start_from=null"] if method == SCRATCH else []
        command = [sys.executable, "-m", "grpe_dgl", "fit", str(file), *targets, *task, "--split-column", "split"]
        clock, cpu = seconds_of([*command, "--seed", str(seed), "--device", "cpu", *start, "--out", str(folder)])
        test = table.out / "test.csv"
        test.write_text("smiles\n" + "".join(f'"{table.rows[i]["smiles"]}"\n' for i in rows), encoding="utf-8")
        out = folder / "test_predictions.csv"
        grpe("predict", folder / "best.ckpt", test, "--out", out, "--force", "--workers", 1)
        prefix = "probability" if table.is_binary else "predicted"
        predictions = column(out, [f"{prefix}_{name}" for name in table.targets])
    unseen = [i for i, row in enumerate(rows) if row not in table.seen]
    return {
        "table": table.name,
        "method": method,
        "train": size or len(table.split["train"]),
        "seed": seed,
        "score": table.score(predictions, rows),
        "score without pretraining molecules": table.score(predictions[unseen], [rows[i] for i in unseen]),
        "test": len(rows),
        "test among pretraining molecules": len(rows) - len(unseen),
        "seconds": clock,
        "processor seconds": cpu,
    }


def summarise(cells: list[dict[str, Any]]) -> list[dict[str, object]]:
    """Return a row per table, size and method: mean and standard deviation over seeds."""
    rows: list[dict[str, object]] = []
    for key in dict.fromkeys((cell["table"], cell["train"], cell["method"]) for cell in cells):
        own = [cell for cell in cells if (cell["table"], cell["train"], cell["method"]) == key]

        def spread(name: str, own: list[dict[str, Any]] = own) -> str:
            values = [cell[name] for cell in own]
            deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
            return f"{statistics.fmean(values):.3f}{deviation}"

        rows.append(
            {
                "table": key[0],
                "train": key[1],
                "model": key[2],
                "seeds": len(own),
                "test": spread("score"),
                "without pretraining molecules": spread("score without pretraining molecules"),
                "of": f"{own[0]['test'] - own[0]['test among pretraining molecules']} of {own[0]['test']}",
                "seconds": f"{statistics.fmean(cell['seconds'] for cell in own):.0f}",
                "processor": f"{statistics.fmean(cell['processor seconds'] for cell in own):.0f}",
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, metavar="DIR", help="holds tables, NAME.csv")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="runs, and a file per finished cell")
    parser.add_argument("--peer", type=Path, metavar="CHEMPROP", help="the chemprop executable")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tables; default: all of DIR")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="learning curves: training molecules")
    parser.add_argument("--methods", nargs="+", help="default: from scratch, from each shipped model, chemprop")
    options = parser.parse_args()
    methods = options.methods or [SCRATCH, *(f"from {name}" for name in shipped_models())]
    methods += [CHEMPROP] if options.peer is not None and not options.methods else []
    done = options.out / "cells"
    done.mkdir(parents=True, exist_ok=True)
    cells = []
    for path in tables_of(options.tables, options.only):
        table = Table(path, options.out)
        for size in [*options.sizes, None]:
            for seed in range(options.seeds):
                for method in methods:
                    file = done / f"{table.name}-{size or 'all'}-{method.replace(' ', '_')}-{seed}.json"
                    if not file.exists():
                        cell = run_cell(table, method, size, seed, options.peer)
                        file.write_text(json.dumps(cell, indent=1) + "\n")
                    cells.append(json.loads(file.read_text()))
                    print(file.stem, f"{cells[-1]['score']:.4f}", f"{cells[-1]['processor seconds']:.0f} s", flush=True)
    report("tables of molecules, scaffold splits", summarise(cells))


if __name__ == "__main__":
    main()
