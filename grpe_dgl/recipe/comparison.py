"""Compare two recipes key by key."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.recipe.recipe import Recipe

# These change no number of a run: text, the number of runs, which each have one seed, and how a batch is computed.
IGNORED = (
    "description",
    "paper",
    "search",
    "training.checkpoint_layers",
    "training.compile",
    "training.micro_batch_size",
    "training.runs",
    "variants",
)


def require_same_recipe(recipe: Recipe, saved: Recipe, path: Path) -> None:
    """Raise unless a run is resumed with the recipe it was started with; the message names each key that differs."""
    differences = [
        f"{key} is {theirs!r} there, {ours!r} was asked for"
        for key, (ours, theirs) in changed_keys(recipe, saved, IGNORED).items()
    ]
    if differences:
        raise InputError(f"{path} was made by another recipe: {'; '.join(differences)}")


def changed_keys(recipe: Recipe, other: Recipe, ignored: Sequence[str] = ()) -> dict[str, tuple[Any, Any]]:
    """Return the full keys, sorted, whose values differ, with the value of each; those that begin with `ignored` not.

    >>> from grpe_dgl.recipe import load_recipe
    >>> changed_keys(load_recipe("zinc", ["model.layers=4"]), load_recipe("zinc"))
    {'model.layers': (4, 12)}
    """
    ours, theirs = (_flat(each.to_dict()) for each in (recipe, other))
    return {
        key: (ours.get(key), theirs.get(key))
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key) and not key.startswith(tuple(ignored))
    }


def _flat(nested: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return a nested dict with full keys: ``{"model.layers": 4}``."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        full = f"{path}.{key}" if path else key
        flat |= _flat(value, full) if isinstance(value, dict) else {full: value}
    return flat
