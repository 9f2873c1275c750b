"""Figures of making datasets of molecules; run them with ``python -m benchmarks.data``."""

import csv
import gzip
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_THEIRS = """
import sys, time
import grpe_dgl.io.ogb_import
from ogb.graphproppred import DglGraphPropPredDataset
begin = time.perf_counter()
DglGraphPropPredDataset(sys.argv[1], root=sys.argv[2])
print(time.perf_counter() - begin)
"""


def molhiv_time(raw: Path, scratch: Path) -> None:
    """Time of ``grpe preprocess molhiv``, distances included, beside OGB's own processing of the same files.

    Ours is the whole command, start-up included; of OGB's program only the processing counts, its imports do not.
    """
    for name in ("molesol", "molhiv"):  # the first is the warm-up
        folder = f"ogbg_{name}"
        shutil.copytree(raw / "ogb" / folder, scratch / "theirs" / folder, copy_function=shutil.copyfile)
        command = [sys.executable, "-W", "ignore", "-c", _THEIRS, f"ogbg-{name}", str(scratch / "theirs")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        theirs = float(said.split()[-1])
        begin = time.perf_counter()
        _grpe("preprocess", name, "--raw-dir", str(raw / "ogb"), "--data", str(scratch), "--workers", "2", "--force")
        ours = time.perf_counter() - begin
    print(f"molhiv-time: {ours:.1f} s, OGB {theirs:.1f} s: {ours / theirs:.0%} of its time, at most 50%")


def smiles(raw: Path, scratch: Path) -> None:
    """Rate of SMILES to stored graph, in one process and in two, beside ``ogb.utils.smiles2graph`` in one.

    One process is timed by the processor's time, which others on the machine change least; two are timed by the clock.
    """
    import grpe_dgl.io.ogb_import  # noqa: F401 (before ogb, which would use the network)
    from grpe_dgl.data.molecules.smiles import canonical, graphs_of_smiles

    molecules = [text for text in _molhiv(raw)[:8000] if canonical(text) is not None]
    from ogb.utils import smiles2graph

    file = _write(scratch / "some.csv", molecules)
    _make(file, scratch / "some", workers=1)  # compiles what is not yet compiled
    theirs, converted, ours = [], [], []
    for _ in range(3):
        begin = time.process_time()
        for text in molecules:
            smiles2graph(text)
        theirs.append(time.process_time() - begin)
        begin = time.process_time()
        graphs_of_smiles(molecules)
        converted.append(time.process_time() - begin)
        begin = time.process_time()
        _make(file, scratch / "some", workers=1)
        ours.append(time.process_time() - begin)
    rate = [len(molecules) / statistics.median(times) for times in (theirs, converted, ours)]
    print(
        f"smiles: {rate[2]:,.0f}/s stored, {rate[1]:,.0f}/s converted, smiles2graph {rate[0]:,.0f}/s: "
        f"{rate[2] / rate[0]:.2f} and {rate[1] / rate[0]:.2f} times as fast per core, at least 1.5 times"
    )
    file = _write(scratch / "many.csv", molecules * 2)
    times = [(_make(file, scratch / "many", workers=1), _make(file, scratch / "many", workers=2)) for _ in range(3)]
    one, two = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"smiles: {2 * len(molecules):,} molecules in {one:.1f} s, with 2 workers {two:.1f} s: {one / two:.2f} times")


def million(raw: Path, scratch: Path) -> None:
    """Largest resident memory, in all processes together, of making a dataset of 1,000,000 molecules."""
    file = _write(scratch / "million.csv", itertools.islice(itertools.cycle(_molhiv(raw)), 1_000_000))
    command = ["preprocess", "csv", str(file), "--target", "y", "--data", str(scratch), "--workers", "2", "--force"]
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "grpe_dgl", *command])
    largest = 0
    while process.poll() is None:
        largest = max(largest, sum(_resident(pid) for pid in _family(process.pid)))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"grpe ended with {process.returncode}")
    print(f"million: {largest / 1e9:.2f} GB in {time.perf_counter() - begin:.0f} s, under 1.5 GB")


def molhiv(raw: Path, scratch: Path) -> Path:
    """Return the folder of the processed ogbg-molhiv."""
    if not (scratch / "molhiv").exists():
        _grpe("preprocess", "molhiv", "--raw-dir", str(raw / "ogb"), "--data", str(scratch), "--workers", "2")
    return scratch / "molhiv"


def _make(file: Path, path: Path, workers: int) -> float:
    """Return how long a CSV takes to become a dataset."""
    from grpe_dgl.data.sources.csv import CSVRequest, csv_source
    from grpe_dgl.data.store.preprocess import preprocess

    begin = time.perf_counter()
    source, _ = csv_source(CSVRequest(file=file, targets=("y",)))
    preprocess(source, path, workers=workers, force=True)
    return time.perf_counter() - begin


def _grpe(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "grpe_dgl", *arguments], check=True, capture_output=True)


def _molhiv(raw: Path) -> list[str]:
    with gzip.open(raw / "ogb" / "ogbg_molhiv" / "mapping" / "mol.csv.gz", "rt", newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def _write(file: Path, molecules: Iterable[str]) -> Path:
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["smiles", "y"])
        writer.writerows((text, i % 97 / 7) for i, text in enumerate(molecules))
    return file


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):  # it ended meanwhile
                continue
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
