"""The results of several runs in one table: mean and deviation over the seeds, beside the paper's number."""

import dataclasses
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Paper, Recipe
from grpe_dgl.workflows.plan import FinishedRun, PlannedRun


def best_run(finished: Sequence[FinishedRun]) -> PlannedRun:
    """Return the run whose model has the best validation metric, the first of equals."""
    best, best_value = finished[0].planned, math.nan
    for run in finished:
        value = run.results["splits"].get("valid", math.nan)
        if METRICS[run.results["metric"]].better(value, best_value):
            best, best_value = run.planned, value
    return best


def summarise(finished: Sequence[FinishedRun], recipe: Recipe) -> dict[str, Any]:
    """Return mean and standard deviation over the seeds, per variant and split, beside the paper's number."""
    rows = []
    for variant in recipe.variants or [None]:
        runs = [run for run in finished if run.planned.variant == variant]
        results = [run.results for run in runs]
        paper = recipe.paper if variant is None else recipe.variants[variant].paper
        splits = {}
        for split in dict.fromkeys(split for result in results for split in result["splits"]):
            values = [result["splits"][split] for result in results if split in result["splits"]]
            spread = None
            if len(values) > 1:  # the paper's deviation is over its runs: that of a sample
                spread = statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
            splits[split] = {"mean": statistics.fmean(values), "deviation": spread, "values": values}
        rows.append(
            {
                "variant": variant,
                "metric": results[0]["metric"],
                "runs": len(results),
                "parameters": results[0].get("parameters"),
                "splits": splits,
                "paper": None if paper is None else dataclasses.asdict(paper),
                "differs": list(runs[0].differs),
            }
        )
    return {"rows": rows}


def table(summary: dict[str, Any]) -> str:
    """Return a summary as a Markdown table, the paper's numbers, if there are any, beside ours.

    Where the setting is not that of the paper's number, a mark beside the number refers to a line below the table.
    """
    rows = summary["rows"]
    splits = list(dict.fromkeys(split for row in rows for split in row["splits"]))
    metric = METRICS[rows[0]["metric"]]
    has_variants = rows[0]["variant"] is not None
    papers = [Paper(**row["paper"]).text() if row["paper"] else "" for row in rows]
    header = ["runs", "parameters", *(f"{split} {metric.name}" for split in splits)]
    header = [*(["variant"] if has_variants else []), *header, *(["paper"] if any(papers) else [])]
    lines = [header, ["---"] * len(header)]
    notes: list[str] = []
    for row, paper in zip(rows, papers, strict=True):
        cells = [row["variant"]] if has_variants else []
        cells += [str(row["runs"]), "" if row["parameters"] is None else f"{row['parameters']:,}"]
        for split in splits:
            numbers = row["splits"].get(split)
            cells.append("" if numbers is None else metric.text(numbers["mean"], numbers["deviation"]))
        if any(papers):
            cells.append(paper + _mark(row["differs"], notes) if paper else "")
        lines.append(cells)
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    below = [f"[{number}] not the setting of the paper's number: {note}\n" for number, note in enumerate(notes, 1)]
    return "\n".join([text, *below])


def _mark(differs: Sequence[str], notes: list[str]) -> str:
    """Return the mark of what differs, `` [1]``, and add it to the notes unless they have it; empty without any."""
    if not differs:
        return ""
    note = "; ".join(differs)
    if note not in notes:
        notes.append(note)
    return f" [{notes.index(note) + 1}]"


def write_summary(summary: dict[str, Any], out: Path) -> None:
    """Write ``summary.json`` and ``table.md`` into the experiment's folder."""
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    write_text(out / "table.md", table(summary))
