"""Compare the recipe of a saved run with the one that is to continue it."""

from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.recipe.recipe import Recipe

# These change no number of a run: text, the number of runs, which each have one seed, and how a batch is computed.
IGNORED = (
    "description",
    "paper",
    "training.checkpoint_layers",
    "training.compile",
    "training.micro_batch_size",
    "training.runs",
    "variants",
)


def require_same_recipe(recipe: Recipe, saved: Recipe, path: Path) -> None:
    """Raise unless a run is resumed with the recipe it was started with; the message names each key that differs."""
    ours, theirs = (_flat(each.to_dict()) for each in (recipe, saved))
    differences = [
        f"{key} is {theirs.get(key)!r} there, {ours.get(key)!r} was asked for"
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key) and not key.startswith(IGNORED)
    ]
    if differences:
        raise InputError(f"{path} was made by another recipe: {'; '.join(sorted(differences))}")


def _flat(nested: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return a nested dict with full keys: ``{"model.layers": 4}``."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        full = f"{path}.{key}" if path else key
        flat |= _flat(value, full) if isinstance(value, dict) else {full: value}
    return flat
