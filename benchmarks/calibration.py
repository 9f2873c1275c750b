"""Calibration of class probabilities and prediction sets on rows that neither training nor calibration saw.

    python -m benchmarks.calibration TOX21.csv --splits 3 --epochs 5
    python -m benchmarks.calibration TOX21.csv --targets SR-MMP SR-ARE --set training.class_weights=balanced

Each time a fifth of the rows is left out at random; one model of all targets is fitted on the rest and calibrated on
its test rows (with ``--folds`` on every row). Printed are, per target and as means: the expected calibration error of
the probabilities as they are and calibrated, on the rows left out and as the fit reports it, and how often the sets of
classes contain the true one, of each class.
"""

import argparse
import json
import statistics
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from grpe_dgl.inference.conformal import calibration_error
from grpe_dgl.workflows.fit import fit


def measure(frame: pandas.DataFrame, targets: list[str], seed: int, level: float, options: dict[str, Any]) -> list[Any]:
    """Fit four fifths of a table; return a dict of figures for every target."""
    order = np.random.default_rng(1000 + seed).permutation(len(frame))
    test, train = frame.iloc[order[: len(frame) // 5]], frame.iloc[order[len(frame) // 5 :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(train, "smiles", targets, seed=seed, **options)
        found = model.predict(test[["smiles"]], interval=level)
    figures = []
    assert model.calibration is not None
    for target, fitted in zip(targets, model.calibration.classes, strict=True):
        known = (test[target].notna() & found[f"probability_{target}"].notna()).to_numpy()
        labels = test[target].to_numpy()[known].astype(int)

        def error(column: str, known: Any = known, labels: Any = labels) -> float:
            positive = found[column].to_numpy()[known]
            return 100 * calibration_error(np.stack([1 - positive, positive], 1), labels)

        sets = found[f"set_{target}"].to_numpy()[known]
        inside = np.array([str(label) in cell.split("|") for label, cell in zip(labels, sets, strict=True)])
        figures.append(
            {
                "target": target,
                "before": error(f"probability_{target}"),
                "after": error(f"calibrated_probability_{target}"),
                "fit before": 100 * fitted.calibration_error,
                "fit after": 100 * fitted.calibration_error_after,
                "covered 0": 100 * float(inside[labels == 0].mean()),
                "covered 1": 100 * float(inside[labels == 1].mean()),
                "classes in a set": float(np.mean([len(cell.split("|")) for cell in sets])),
            }
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--targets", nargs="+", help="Columns of 0, 1 and blank.  [default: all but smiles]")
    parser.add_argument("--rows", type=int, help="Take so many rows at random.")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--folds", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--recipe", default="property")
    parser.add_argument("--from-scratch", action="store_true")
    parser.add_argument("--set", dest="settings", nargs="+", default=[], metavar="KEY=VALUE", help="Of the recipe.")
    parser.add_argument("--json", type=Path, help="Also write every figure to this file.")
    chosen = parser.parse_args()
    frame = pandas.read_csv(chosen.table)
    if chosen.rows:
        frame = frame.sample(chosen.rows, random_state=0)
    targets = chosen.targets or [name for name in frame.columns if name != "smiles"]
    options = {
        "recipe": chosen.recipe,
        "epochs": chosen.epochs,
        "folds": chosen.folds,
        "from_scratch": chosen.from_scratch,
        "settings": chosen.settings,
        "task": "classification",
    }
    figures: list[dict[str, Any]] = []
    for seed in range(chosen.splits):
        figures += [{"split": seed, **each} for each in measure(frame, targets, seed, chosen.level, options)]
        if chosen.json:
            chosen.json.write_text(json.dumps(figures, indent=1) + "\n")
    for target in [*targets, None]:
        own = [each for each in figures if target in (None, each["target"])]
        values = {
            key: statistics.fmean(each[key] for each in own if each[key] == each[key])
            for key in own[0]
            if key not in ("target", "split")
        }
        print(f"{target or 'mean'}: " + ", ".join(f"{key} {value:.1f}" for key, value in values.items()), flush=True)


if __name__ == "__main__":
    main()
