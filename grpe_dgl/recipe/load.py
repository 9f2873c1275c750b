"""Load a recipe: read its file and those it extends, apply overrides, check the result."""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.recipe.fields import describe, short_key
from grpe_dgl.recipe.files import is_shipped_name, read_yaml, recipe_text, shipped_instead
from grpe_dgl.recipe.overrides import apply_overrides, parse_overrides, section_overrides
from grpe_dgl.recipe.recipe import Recipe

SECTIONS = ("model", "training", "pretraining")  # merged key by key; every other key replaces the base's
MAX_BASES = 5


def load_recipe(recipe: str | Path, overrides: Mapping[str, object] | Iterable[str] = ()) -> Recipe:
    """Read a recipe.

    Parameters
    ----------
    recipe
        A path, or the name of a shipped recipe. A text without a folder and without ``.yaml`` is a name.
    overrides
        Keys to change, ``{"model.layers": 4}`` or ``["model.layers=4"]``, with the types of the file's own keys.
    """
    changes = parse_overrides(overrides)
    raw, bases = _read_with_bases(recipe)
    source = str(recipe)
    if bases:
        source += f" (extends {', '.join(bases)})"
    if changes:
        source += f" with {', '.join(f'{key}={short_key(value)}' for key, value in changes.items())}"
    return Recipe.from_dict(apply_overrides(raw, changes, source=source), source=source)


def read_recipe(recipe: str | Path) -> dict[str, Any]:
    """Return the keys of a recipe's file and of those it extends, as written: neither checked nor completed."""
    return _read_with_bases(recipe)[0]


def _read_with_bases(recipe: str | Path) -> tuple[dict[str, Any], list[str]]:
    """Return the merged keys of a recipe and the recipes it extends, and the names of the latter, nearest first."""
    names: list[str] = []  # of the files read, the recipe first
    contents: list[dict[str, Any]] = []
    seen: set[str] = set()
    location: str | Path | None = shipped_instead(recipe)
    while location is not None:
        name = str(location)
        identity = name if is_shipped_name(location) else str(Path(location).resolve())
        if identity in seen:
            raise InputError(f"{recipe}: extends goes in a circle: {' -> '.join([*names, name])}")
        if len(names) > MAX_BASES:
            raise InputError(f"{recipe}: extends more than {MAX_BASES} recipes in a row: {' -> '.join([*names, name])}")
        try:
            raw = read_yaml(recipe_text(location), source=name)
        except InputError as error:
            raise InputError(f"{names[-1]}: extends: {error}" if names else str(error)) from None
        names.append(name)
        contents.append(raw)
        seen.add(identity)
        location = _base(raw.pop("extends", None), location)
    merged = contents[-1]
    for own in reversed(contents[:-1]):
        merged = _merge(merged, own)
    return merged, names[1:]


def _base(base: object, file: str | Path) -> str | Path | None:
    """Return which recipe a file extends: a shipped name, a path, or None if it extends none."""
    if base is None:
        return None
    if not isinstance(base, str) or not base or not base.isprintable():
        accepted = "the name of a shipped recipe, or a path relative to this file"
        raise InputError(f"{file}: extends is {describe(base)}; accepted: {accepted}")
    return base if is_shipped_name(base) else Path(file).parent / base


def _merge(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base's keys with those of the extending file over them, the sections merged key by key.

    What the paper reports of the base is not inherited, for the recipe or for its variants: its numbers belong to the
    base's settings alone.
    """
    merged = copy.deepcopy({key: value for key, value in base.items() if key != "paper"})
    for variant in merged["variants"].values() if isinstance(merged.get("variants"), dict) else ():
        if isinstance(variant, dict):
            variant.pop("paper", None)
    for key, value in own.items():
        if key in SECTIONS and isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged = apply_overrides(merged, section_overrides(key, value), source=key)
        else:
            merged[key] = value
    return merged
