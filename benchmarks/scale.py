"""Molecules per second of a library: one process, two shards, Ray with two workers; ``python -m benchmarks.scale``.

Every process has one thread. Times include start-up. With ``--old FOLDER``, a checkout of another commit, it also
measures in turns the molecules per second of that commit's ``grpe predict`` and of this one's as a user calls it, on
all cores and start-up included, and the processor time in which each reads and predicts a molecule.
"""

import argparse
import csv
import gzip
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import report, save

COMMIT_PROGRAM = """
import csv, json, sys, time
import torch
torch.set_num_threads(1)
from grpe_dgl.inference.predictor import load
try:
    from grpe_dgl.inference.inputs import read
except ImportError:
    from grpe_dgl.inference.rows import read
model, table = sys.argv[1:]
with open(table, newline="") as file:
    smiles = [row["smiles"] for row in csv.DictReader(file)]
predictor = load(model)
predictor.predict_chunk(read(smiles[:500]))
reading = forward = 0.0
for first in range(0, len(smiles), 500):
    begin = time.process_time()
    chunk = read(smiles[first : first + 500])
    middle = time.process_time()
    predictor.predict_chunk(chunk)
    reading, forward = reading + middle - begin, forward + time.process_time() - middle
print(json.dumps([reading, forward]))
"""
CHECKPOINT_PROGRAM = """
import sys
from pathlib import Path
from benchmarks.inference import checkpoint
checkpoint(sys.argv[1]).save(Path(sys.argv[2]))
"""


def environment(checkout: Path | None, scratch: Path) -> dict[str, str]:
    """Return the environment of one-thread processes, which import another checkout's packages if one is given."""
    found = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    if checkout is not None:
        packages = scratch / "other"
        packages.mkdir(exist_ok=True)
        for name, folder in (("grpe_dgl", "grpe_dgl"), ("grpe_dgl_cli", "cli"), ("grpe_dgl_recipes", "recipes"),
                             ("benchmarks", "benchmarks")):  # fmt: skip
            if not (packages / name).exists():
                (packages / name).symlink_to((checkout / folder).resolve())
        found["PYTHONPATH"] = str(packages)
    return found


def run(commands: list[list[str]], scratch: Path, environ: dict[str, str]) -> dict[str, float]:
    """Run commands at the same time; return the seconds until the last has ended and the processor time of all."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    processes = [
        subprocess.Popen(command, cwd=scratch, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for command in commands
    ]
    for process in processes:
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(errors.decode())
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "megabytes": after.ru_maxrss / 1024,  # of the largest process so far
    }


def engines(model: Path, table: Path, count: int, rounds: int, scratch: Path, ray: bool) -> list[dict[str, Any]]:
    """Return a row for each way to compute the same library, measured in turns."""
    base = [sys.executable, "-m", "grpe_dgl", "predict", str(model), str(table), "--out", "out/"]
    ways = {
        "one process": [[*base, "--workers", "1"]],
        "two shards": [[*base, "--workers", "1", "--shard", f"{k}/2"] for k in (1, 2)],
        "two workers": [[*base, "--workers", "2"]],
    }
    if ray:
        ways["Ray, two workers"] = [[*base, "--workers", "2", "--engine", "ray"]]
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    parts: dict[str, list[bytes]] = {}
    for _ in range(rounds):
        for name, commands in ways.items():
            shutil.rmtree(scratch / "out", ignore_errors=True)
            seconds[name].append(run(commands, scratch, environment(None, scratch))["seconds"])
            parts[name] = [part.read_bytes() for part in sorted((scratch / "out").glob("part-*"))]
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return [
        {
            "engine": name,
            "molecules": count,
            "seconds": round(medians[name], 1),
            "per second": round(count / medians[name]),
            "against two shards": f"{medians[name] / medians['two shards']:.2f}",
            "same bytes": parts[name] == parts["one process"],
        }
        for name in ways
    ]


def memory(model: Path, smiles: list[str], scratch: Path) -> list[dict[str, Any]]:
    """Return the largest resident memory of one process for a quarter and for all of the molecules.

    The smaller input comes first, because the system reports the largest process so far.
    """
    rows = []
    for count in (len(smiles) // 4, len(smiles)):
        table = write(scratch / f"memory-{count}.csv", smiles[:count])
        shutil.rmtree(scratch / "out", ignore_errors=True)
        command = [sys.executable, "-m", "grpe_dgl", "predict", str(model), str(table), "--out", "out/"]
        used = run([[*command, "--workers", "1"]], scratch, environment(None, scratch))
        rows.append({"molecules": count, "largest process, MB": round(used["megabytes"])})
    return rows


def commands(old: Path, model: Path, table: Path, count: int, rounds: int, scratch: Path) -> list[dict[str, Any]]:
    """Return molecules per second of another checkout's ``grpe predict`` and of this one's, measured in turns."""
    threads = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"}
    ways = {"old": environment(old, scratch), "this": environment(None, scratch)}
    command = [sys.executable, "-m", "grpe_dgl", "predict", str(model), str(table), "--out", "out.csv", "--force"]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, environ in ways.items():
            chosen = {key: value for key, value in environ.items() if key not in threads}
            found[name].append(run([command], scratch, chosen))
    rows = []
    for name, values in found.items():
        seconds, processor = (statistics.median(value[key] for value in values) for key in ("seconds", "processor"))
        figures = {"seconds": round(seconds, 1), "processor seconds": round(processor, 1)}
        rows.append({"commit": name, "molecules": count, **figures, "per second": round(count / seconds)})
    return rows


def commits(old: Path, model: Path, table: Path, count: int, rounds: int, scratch: Path) -> list[dict[str, Any]]:
    """Return microseconds of processor time per molecule of another checkout and of this one, measured in turns."""
    environments = {"old": environment(old, scratch), "this": environment(None, scratch)}
    found: dict[str, list[list[float]]] = {name: [] for name in environments}
    for _ in range(rounds):
        for name, environ in environments.items():
            command = [sys.executable, "-c", COMMIT_PROGRAM, str(model), str(table)]
            output = subprocess.run(command, env=environ, cwd=scratch, check=True, capture_output=True, text=True)
            found[name].append(json.loads(output.stdout.splitlines()[-1]))
    rows = []
    for name, values in found.items():
        reading, forward = (statistics.median(value[i] for value in values) / count * 1e6 for i in (0, 1))
        total = statistics.median(sum(value) for value in values) / count * 1e6
        figures = {"reading us": round(reading), "forward us": round(forward), "both us": round(total)}
        rows.append({"commit": name, **figures, "molecules per core and second": round(1e6 / total)})
    return rows


def write(path: Path, smiles: list[str]) -> Path:
    """Write a CSV file of SMILES."""
    path.write_text("smiles\n" + "\n".join(smiles) + "\n")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--smiles", type=Path, required=True, metavar="FILE", help="a .csv.gz with a column smiles")
    parser.add_argument("--molecules", type=int, default=200_000)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--old", type=Path, metavar="FOLDER", help="a checkout to compare with")
    parser.add_argument("--only", choices=["engines", "memory", "commits"], help="default: everything that is possible")
    parser.add_argument("--no-ray", action="store_true", help="leave Ray out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, too")
    options = parser.parse_args()
    with gzip.open(options.smiles, "rt", newline="") as file:
        smiles = [row["smiles"] for row in itertools.islice(csv.DictReader(file), options.molecules)]
    tables: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        model, table = scratch / "model.ckpt", write(scratch / "molecules.csv", smiles)
        # The older checkout makes the model, because newer ones read its format.
        command = [sys.executable, "-c", CHECKPOINT_PROGRAM, options.preset, str(model)]
        environ = environment(options.old, scratch)
        if options.old is None:
            environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        subprocess.run(command, env=environ, cwd=scratch, check=True)
        if options.only in (None, "memory"):
            tables["memory of one process"] = memory(model, smiles, scratch)
        if options.only in (None, "engines"):
            tables["engines"] = engines(model, table, len(smiles), options.rounds, scratch, not options.no_ray)
        if options.old is not None and options.only in (None, "commits"):
            title = "grpe predict, as it is called"
            tables[title] = commands(options.old, model, table, len(smiles), options.rounds, scratch)
            title = "processor time of one molecule, one thread"
            tables[title] = commits(options.old, model, table, len(smiles), options.rounds, scratch)
    for title, rows in tables.items():
        report(title, rows)
    save(options.json, tables)


if __name__ == "__main__":
    main()
