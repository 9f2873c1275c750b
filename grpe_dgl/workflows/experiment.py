"""Several runs of one recipe: seeds, variants, and the table that compares them with the paper."""

import dataclasses
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe
from grpe_dgl.recipe.comparison import require_same_recipe


@dataclass(frozen=True)
class Planned:
    """One run of an experiment."""

    variant: str | None
    recipe: Recipe
    folder: Path

    @property
    def title(self) -> str:
        """What to call it on the screen."""
        seed = f"seed {self.recipe.training.seed}"
        return seed if self.variant is None else f"{self.variant}, {seed}"


def plan(recipe: Recipe, out: Path) -> list[Planned]:
    """Return the runs of a recipe: one in `out` itself, or each in ``[VARIANT/]seed-S/``."""
    planned = []
    for variant in recipe.variants or [None]:
        chosen = recipe if variant is None else recipe.variant(variant)
        for seed in range(chosen.training.seed, chosen.training.seed + chosen.training.runs):
            one = dataclasses.replace(chosen, training=dataclasses.replace(chosen.training, seed=seed, runs=1))
            folder = out if variant is None else out / variant
            if recipe.variants or chosen.training.runs > 1:
                folder = folder / f"seed-{seed}"
            planned.append(Planned(variant, one, folder))
    return planned


def prepare_folder(recipe: Recipe, out: Path, *, resume: bool) -> None:
    """Make the folder of an experiment, or check that it can be resumed with this recipe."""
    from grpe_dgl.recipe import load_recipe

    kept = out / "recipe.yaml"
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    if out.is_dir() and any(out.iterdir()):
        if not resume:
            raise InputError(f"{out} exists already; --resume goes on with it, --out names another folder")
        if not kept.exists():
            raise InputError(f"{out} is not the folder of a run: it has no recipe.yaml")
        require_same_recipe(recipe, load_recipe(kept), kept)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_text(kept, recipe.to_yaml())
    except OSError as error:
        raise InputError(f"{out} cannot be written to: {error.strerror}") from None


def best_run(finished: list[tuple[Planned, dict[str, Any]]]) -> Planned:
    """Return the run whose model has the best validation metric, the first of equals."""
    best, best_value = finished[0][0], math.nan
    for planned, results in finished:
        value = results["splits"].get("valid", math.nan)
        if METRICS[results["metric"]].better(value, best_value):
            best, best_value = planned, value
    return best


def summarise(finished: list[tuple[Planned, dict[str, Any]]], recipe: Recipe) -> dict[str, Any]:
    """Return mean and standard deviation over the seeds, per variant and split, beside the paper's number."""
    rows = []
    for variant in recipe.variants or [None]:
        results = [result for planned, result in finished if planned.variant == variant]
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
