"""Coverage of prediction intervals on rows that no model saw: several random splits of tables.

    python -m benchmarks.intervals ESOL.csv:logSolubility LIPO.csv:lipo LIPO.csv:lipo:600 --splits 10
    python -m benchmarks.intervals ESOL.csv:logSolubility --layers 1 --width 32 --from-scratch    # small models

Each table is divided at random into rows to fit and rows to predict, as many times as `--splits` says. `split` fits one
split by several seeds and calibrates on its own test rows, `cross` fits folds and calibrates on all rows. Printed are
the share of labels inside the intervals, their mean width and the error; with several seeds or repeats each molecule's
width follows the spread of the models, and the share is also printed for the half of the molecules with the wider ones.
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from grpe_dgl.workflows.fit import fit


@dataclass(frozen=True)
class Outcome:
    """One fit: for every level coverage and mean width, and the root mean square error."""

    coverage: dict[float, float]
    wider: dict[float, float]
    """Coverage of the half of the molecules with the wider intervals; of all if all have one width."""
    width: dict[float, float]
    rmse: float


def measure(frame: pandas.DataFrame, target: str, seed: int, levels: list[float], options: dict[str, Any]) -> Outcome:
    """Fit four fifths of a table and compare the intervals of the rest with its labels."""
    order = np.random.default_rng(1000 + seed).permutation(len(frame))
    test, train = frame.iloc[order[: len(frame) // 5]], frame.iloc[order[len(frame) // 5 :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(train, "smiles", target, seed=seed, **options)
        found = {level: model.predict(test[["smiles"]], interval=level) for level in levels}
    truth = test[target].to_numpy()
    name = f"predicted_{target}"
    coverage, wider, width = {}, {}, {}
    for level, each in found.items():
        low, high = each[f"{name}_low"].to_numpy(), each[f"{name}_high"].to_numpy()
        inside = (truth >= low) & (truth <= high)
        half = high - low >= np.median(high - low) - 1e-6
        coverage[level], wider[level] = float(inside.mean()), float(inside[half].mean())
        width[level] = float((high - low).mean())
    rmse = float(np.sqrt(((found[levels[0]][name] - truth) ** 2).mean()))
    return Outcome(coverage, wider, width, rmse)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="FILE:TARGET[:ROWS]")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--levels", type=float, nargs="+", default=[0.9, 0.5])
    parser.add_argument("--methods", nargs="+", choices=["split", "cross"], default=["split", "cross"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="The recipe's own number by default, as of all below.")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--from-scratch", action="store_true")
    parser.add_argument("--recipe", default="property")
    parser.add_argument("--json", type=Path, help="Also write every figure to this file.")
    chosen = parser.parse_args()
    settings = {
        "model.layers": chosen.layers,
        "model.hidden_size": chosen.width,
        "model.ffn_size": chosen.width,
        "training.batch_size": chosen.batch_size,
        "training.learning_rate": chosen.learning_rate,
    }
    common: dict[str, Any] = {
        "recipe": chosen.recipe,
        "epochs": chosen.epochs,
        "from_scratch": chosen.from_scratch,
        "settings": {key: value for key, value in settings.items() if value is not None},
    }
    methods: dict[str, Callable[[], dict[str, Any]]] = {
        "split": lambda: {**common, "settings": {**common["settings"], "training.runs": chosen.seeds}},
        "cross": lambda: {**common, "folds": chosen.folds, "repeats": chosen.repeats},
    }
    figures: list[dict[str, Any]] = []
    for name in chosen.tables:
        file, target, *rows = name.split(":")
        frame = pandas.read_csv(file)
        if rows:
            frame = frame.sample(int(rows[0]), random_state=0)
        for method in chosen.methods:
            begin = time.monotonic()
            title = f"{Path(file).stem} ({len(frame):,} rows), {method}"
            outcomes = []
            for seed in range(chosen.splits):
                outcomes.append(measure(frame, target, seed, chosen.levels, methods[method]()))
                if chosen.json:  # after every split: a run of hours may be stopped
                    so_far = [*figures, {"table": title, "outcomes": [vars(outcome) for outcome in outcomes]}]
                    chosen.json.write_text(json.dumps(so_far, indent=1) + "\n")
            for level in chosen.levels:
                each = [outcome.coverage[level] for outcome in outcomes]
                deviation = statistics.stdev(each) if len(each) > 1 else 0.0
                width = statistics.fmean(outcome.width[level] for outcome in outcomes)
                wider = statistics.fmean(outcome.wider[level] for outcome in outcomes)
                print(
                    f"{title}: nominal {100 * level:g} %, covered {100 * statistics.fmean(each):.1f} ± "
                    f"{100 * deviation:.1f} %, of the wider half {100 * wider:.1f} %, width {width:.3f}",
                    flush=True,
                )
            rmse = statistics.fmean(outcome.rmse for outcome in outcomes)
            print(f"{title}: rmse {rmse:.3f}, {time.monotonic() - begin:.0f} s", flush=True)
            figures.append({"table": title, "outcomes": [vars(outcome) for outcome in outcomes]})


if __name__ == "__main__":
    main()
