"""Interleaved medians, and a table of them."""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch


def interleaved(runs: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 2) -> dict[str, float]:
    """Return the median seconds of each run, taken in turns so that a busy moment of the machine meets them all."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(warm_up + rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def arguments(description: str) -> argparse.Namespace:
    """Read --rounds, --threads and --json from the command line, and set torch's threads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=11, help="measured turns per table (default: 11)")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch and of the kernel (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, too")
    parser.add_argument("--only", help="measure only the tables whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    return options


def ratios(seconds: Mapping[str, float], ours: str) -> dict[str, Any]:
    """Return milliseconds of each run, and how many times as long as ours the others take."""
    figures: dict[str, Any] = {f"{name} ms": round(1e3 * value, 2) for name, value in seconds.items()}
    for name, value in seconds.items():
        if name != ours:
            figures[f"{name} / {ours}"] = round(value / seconds[ours], 2)
    return figures


def report(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows with the same keys as a table."""
    columns = list(rows[0])
    widths = [max(len(str(column)), *(len(str(row[column])) for row in rows)) for column in columns]
    print(f"\n{title}")
    for line in ([columns] if columns else []) + [[row[column] for column in columns] for row in rows]:
        print("  ".join(str(cell).rjust(width) for cell, width in zip(line, widths, strict=True)), flush=True)


def save(path: Path | None, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write the tables as JSON, with what they were measured on."""
    if path is not None:
        machine = {"processor": platform.processor() or platform.machine(), "threads": torch.get_num_threads()}
        path.write_text(json.dumps({"machine": machine, "tables": tables}, indent=2) + "\n")


def run_tables(tables: Mapping[str, Callable[[int], Sequence[Mapping[str, Any]]]], description: str) -> None:
    """Measure the tables the command line asks for: print each, and save them all."""
    options = arguments(description)
    measured = {}
    for title, table in tables.items():
        if options.only is None or options.only in title:
            measured[title] = table(options.rounds)
            report(title, measured[title])
    save(options.json, measured)
