"""How the setting of a run differs from the one that the paper's number belongs to."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from grpe_dgl.data.catalogue import CATALOGUE, short_name
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Paper, Recipe, load_recipe, shipped_recipes
from grpe_dgl.recipe.comparison import changed_keys
from grpe_dgl.schema import Task

# Compared apart from the other keys, or of no influence on what a run is expected to reach.
IGNORED = ("description", "paper", "search", "variants", "dataset", "start_from", "training.seed")


def differences(
    recipe: Recipe,
    manifest: Manifest,
    task: Task,
    written: Recipe | None = None,
    ignored: Sequence[str] = IGNORED,
) -> list[str]:
    """Return in words what differs between a run and the setting of the paper's number beside it.

    The setting is that of the shipped recipe, or variant of one, that quotes the same number, so that a copy with other
    keys is compared with the original.

    Parameters
    ----------
    recipe
        The run's, without variants; its `paper` says which number stands beside it. Without one nothing differs.
    manifest, task
        The data it was trained on.
    written
        The recipe's file as it is written, for a number that no shipped recipe has.
    ignored
        The keys that are not compared.
    """
    setting = paper_setting(recipe, written)
    if setting is None:
        return []
    return [
        *_own_differences(recipe.paper),
        *key_differences(recipe, setting, task, ignored),
        *_start_differences(recipe, setting),
        *data_differences(manifest, setting.dataset),
    ]


def _own_differences(paper: Paper | None) -> list[str]:
    """Return what the recipe itself says about its model and that of the number."""
    ours = ["a configuration of ours"] if paper is not None and paper.configuration == "ours" else []
    return ours if paper is None or paper.differs is None else [*ours, paper.differs]


def paper_setting(recipe: Recipe, written: Recipe | None = None) -> Recipe | None:
    """Return the setting of the paper's number beside a run, as in `differences`; None if there is no number."""
    if recipe.paper is None or not recipe.paper.numbers:
        return None
    return _shipped_setting(recipe.paper) or written


def describe_setting(
    recipe: Recipe, manifest: Manifest, task: Task, written: Recipe | None = None, also: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the number of the paper beside one run, and what differs from its setting, for ``results.json``.

    How many runs the paper took the mean of is not compared, because one run does not know its fellows: it is there as
    ``runs``. `also` lists what else differs; the other arguments are those of `differences`.
    """
    setting = paper_setting(recipe, written)
    differs = [*differences(recipe, manifest, task, written, (*IGNORED, "training.runs")), *also]
    return {
        "paper": None if recipe.paper is None else dataclasses.asdict(recipe.paper),
        "setting": None if setting is None else {"differs": differs, "runs": setting.training.runs},
    }


def key_differences(recipe: Recipe, setting: Recipe, task: Task, ignored: Sequence[str] = IGNORED) -> list[str]:
    """Return the keys of two recipes for one task that differ: ``training.epochs 2 instead of 100``."""
    try:
        recipe, setting = recipe.fit_to_task(task), setting.fit_to_task(task)
    except InputError:
        return [f"another task ({task.kind})"]
    return [
        f"{key} {_text(ours)} instead of {_text(theirs)}"
        for key, (ours, theirs) in changed_keys(recipe, setting, ignored).items()
    ]


def data_differences(manifest: Manifest, dataset: str | None) -> list[str]:
    """Return how a processed dataset differs from the published one called `dataset`: generated, partial, another."""
    name = None if dataset is None else short_name(dataset)
    if name not in CATALOGUE:
        return []
    entry = CATALOGUE[name]
    if manifest.settings.get("dataset") != name:
        return [f"the dataset {manifest.schema.name} instead of {name}"]
    found = ["generated graphs"] if manifest.settings.get("generate") else []
    for split, count in zip(entry.splits, entry.counts or (), strict=False):
        if manifest.splits.get(split, 0) != count:
            found.append(f"{split} {manifest.splits.get(split, 0):,} of {count:,} graphs")
    return found


def _start_differences(recipe: Recipe, setting: Recipe) -> list[str]:
    """Return whether only one of the two starts from a trained model; which one it is, `Pretrained` compares."""
    if (recipe.start_from is None) == (setting.start_from is None):
        return []
    return [f"starts from {recipe.start_from or 'scratch'} instead of {setting.start_from or 'scratch'}"]


def paper_rows(table: str) -> list[tuple[str, Paper]]:
    """Return the numbers of a table of the paper that shipped recipes quote, with the recipe and variant of each."""
    return [
        (name, recipe.paper) for name, recipe in _settings().items() if recipe.paper and recipe.paper.table == table
    ]


@functools.cache
def _settings() -> dict[str, Recipe]:
    """Return every shipped recipe, and ``RECIPE/VARIANT``, that quotes a number of the paper, without variants."""
    every: dict[str, Recipe] = {}
    for name in shipped_recipes():
        recipe = load_recipe(name)
        every |= {f"{name}/{variant}": recipe.variant(variant) for variant in recipe.variants} or {name: recipe}
    return {name: recipe for name, recipe in every.items() if recipe.paper is not None and recipe.paper.numbers}


def _shipped_setting(paper: Paper) -> Recipe | None:
    """Return the shipped recipe or variant that quotes this number."""
    return next((recipe for recipe in _settings().values() if recipe.paper == paper), None)


def _text(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
