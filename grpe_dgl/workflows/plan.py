"""The runs of a recipe: one for every variant and seed, each in a folder of its own."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.recipe import Recipe


@dataclass(frozen=True)
class PlannedRun:
    """One run of an experiment."""

    variant: str | None
    """The name of the recipe's variant; None for a recipe without."""
    recipe: Recipe
    """Without variants, for one seed."""
    folder: Path

    @property
    def title(self) -> str:
        """Return the variant, if there is one, and the seed: ``near, seed 0``."""
        seed = f"seed {self.recipe.training.seed}"
        return seed if self.variant is None else f"{self.variant}, {seed}"


@dataclass(frozen=True)
class FinishedRun:
    """A run with its results."""

    planned: PlannedRun
    results: dict[str, Any]
    """The content of ``results.json``; see `grpe_dgl.training.run.run`."""
    differs: tuple[str, ...] = ()
    """What differs from the setting of the paper's number beside it; see `grpe_dgl.workflows.setting`."""


def plan(recipe: Recipe, out: Path) -> list[PlannedRun]:
    """Return the runs of a recipe: one in `out` itself, or each in ``[VARIANT/]seed-S/``."""
    planned = []
    for variant in recipe.variants or [None]:
        chosen = recipe if variant is None else recipe.variant(variant)
        for seed in range(chosen.training.seed, chosen.training.seed + chosen.training.runs):
            one = dataclasses.replace(chosen, training=dataclasses.replace(chosen.training, seed=seed, runs=1))
            folder = out if variant is None else out / variant
            if recipe.variants or chosen.training.runs > 1:
                folder = folder / f"seed-{seed}"
            planned.append(PlannedRun(variant, one, folder))
    return planned
