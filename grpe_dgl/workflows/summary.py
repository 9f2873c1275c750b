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
from grpe_dgl.recipe import Recipe
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
        results = [run.results for run in finished if run.planned.variant == variant]
        paper = recipe.paper if variant is None else recipe.variants[variant].paper
        splits = {}
        for split in results[0]["splits"]:
            values = [result["splits"][split] for result in results]
            spread = None
            if len(values) > 1:  # the paper's deviation is over its runs: that of a sample
                spread = statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
            splits[split] = {"mean": statistics.fmean(values), "deviation": spread, "values": values}
        rows.append(
            {
                "variant": variant,
                "metric": results[0]["metric"],
                "runs": len(results),
                "splits": splits,
                "paper": None if paper is None else dataclasses.asdict(paper),
            }
        )
    return {"rows": rows}


def table(summary: dict[str, Any]) -> str:
    """Return a summary as a Markdown table, the paper's numbers, if there are any, beside ours."""
    splits = list(dict.fromkeys(split for row in summary["rows"] for split in row["splits"]))
    metric = METRICS[summary["rows"][0]["metric"]]
    has_variants = summary["rows"][0]["variant"] is not None
    papers = [row["paper"] if row["paper"] and row["paper"]["value"] is not None else None for row in summary["rows"]]
    header = [*(["variant"] if has_variants else []), "runs", *(f"{split} {metric.name}" for split in splits)]
    if any(papers):
        header.append("paper")
    lines = [header, ["---"] * len(header)]
    for row, paper in zip(summary["rows"], papers, strict=True):
        cells = [row["variant"]] if has_variants else []
        cells.append(str(row["runs"]))
        for split in splits:
            numbers = row["splits"].get(split)
            cells.append("" if numbers is None else metric.text(numbers["mean"], numbers["deviation"]))
        if any(papers):
            cells.append("" if paper is None else f"{paper['value']} ({paper['metric']})")
        lines.append(cells)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write_summary(summary: dict[str, Any], out: Path) -> None:
    """Write ``summary.json`` and ``table.md`` into the experiment's folder."""
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    write_text(out / "table.md", table(summary))
