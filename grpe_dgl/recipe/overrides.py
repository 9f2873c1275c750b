"""Change single keys of a recipe before it is read: ``model.layers=4``."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.families import DEFAULT, ModelSettings, settings_class
from grpe_dgl.messages import nearest, short
from grpe_dgl.recipe.fields import describe
from grpe_dgl.recipe.safe_yaml import parse
from grpe_dgl.recipe.training import KEYS_OF_SCHEDULE, SCHEDULE_KEYS

# An override removes these keys of the file, which would contradict it: epochs the updates. A preset also removes the
# keys it stands for, which depend on the family, a schedule those that it does not read, and another family all keys of
# the model.
REPLACES: dict[str, tuple[str, ...]] = {
    "training.epochs": ("training.updates",),
    "training.updates": ("training.epochs",),
    "training.warmup_epochs": ("training.warmup_updates",),
    "training.warmup_updates": ("training.warmup_epochs",),
}


MOST_SECTIONS = 8  # of a full key


def parse_overrides(overrides: Mapping[str, object] | Iterable[str]) -> dict[str, object]:
    """Return full key to value, from that or from texts like ``model.layers=4``, whose values are read as YAML."""
    if isinstance(overrides, Mapping):
        return dict(overrides)
    parsed: dict[str, object] = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{short(text)} is not an override; accepted: KEY=VALUE, for example model.layers=4")
        try:
            parsed[key.strip()] = parse(value)
        except InputError as error:
            raise InputError(f"{short(text)} has a value that is not YAML; put it in quotes ({error})") from None
    return parsed


def section_overrides(section: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a whole section as overrides: ``{"layers": 4}`` of ``model`` as ``{"model.layers": 4}``."""
    return {f"{section}.{key}": value for key, value in values.items()}


def apply_overrides(raw: Mapping[str, Any], overrides: Mapping[str, object], *, source: str) -> dict[str, Any]:
    """Return a copy of `raw` with each full key set to its value, without the keys that an override replaces."""
    changed: dict[str, Any] = copy.deepcopy(dict(raw))
    replaces = dict(REPLACES)
    if overrides.get("model.name") not in (None, _family_name(changed)):
        changed["model"] = {}  # no key of another family applies
    if isinstance(overrides.get("model.preset"), str):
        named = {"model": {"name": overrides.get("model.name", _family_name(changed))}}
        presets = family_settings(named, source=source).PRESETS
        replaces["model.preset"] = tuple(f"model.{key}" for key in presets.get(str(overrides["model.preset"]), ()))
    if overrides.get("training.schedule") in KEYS_OF_SCHEDULE:
        own = KEYS_OF_SCHEDULE[str(overrides["training.schedule"])]
        replaces["training.schedule"] = tuple(f"training.{key}" for key in SCHEDULE_KEYS if key not in own)
    for key in overrides:
        for replaced in replaces.get(key, ()):
            section, name = replaced.split(".")
            if isinstance(changed.get(section), dict):
                changed[section].pop(name, None)
    for key, value in overrides.items():
        *sections, name = key.split(".")
        if len(sections) > MOST_SECTIONS:
            raise InputError(f"{source}: {short(key)} is not a key of a recipe")
        inside: Any = changed
        for depth, section in enumerate(sections):
            if inside.get(section) is None:
                inside[section] = {}
            inside = inside[section]
            if not isinstance(inside, dict):
                path = ".".join(sections[: depth + 1])
                raise InputError(f"{source}: {key} cannot be set; {path} is {describe(inside)}, not a mapping")
        inside[name] = copy.deepcopy(value)
    return changed


def merge_overrides(first: Mapping[str, object], then: Mapping[str, object]) -> dict[str, object]:
    """Return the overrides that do what `first` and after them `then` do."""
    replaced = {key for later in then for key in REPLACES.get(later, ())}
    return {**{key: value for key, value in first.items() if key not in replaced}, **then}


def shorten(training: Mapping[str, Any], epochs: int) -> dict[str, object]:
    """Return the overrides that must accompany ``training.epochs`` when only the number of epochs is given.

    If the schedule becomes shorter, the warm-up keeps its share of it, rounded down to whole epochs or updates.
    ``stop_after_epochs`` is removed.

    Parameters
    ----------
    training
        The recipe's section as written in the file, not checked yet; values of the wrong type are ignored here.
    epochs
        The number asked for, 1 or more.
    """
    changes: dict[str, object] = {}
    if training.get("stop_after_epochs") is not None:
        changes["training.stop_after_epochs"] = None
    lengths = ("epochs", "updates", "warmup_epochs", "warmup_updates")
    whole, updates, warmup_epochs, warmup_updates = (_count(training.get(key)) for key in lengths)
    if whole and epochs < whole and warmup_epochs:
        changes["training.warmup_epochs"] = warmup_epochs * epochs // whole
    elif whole and epochs < whole and warmup_updates:
        changes["training.warmup_updates"] = warmup_updates * epochs // whole
    elif updates and warmup_updates:
        changes["training.warmup_epochs"] = warmup_updates * epochs // updates
    elif (
        updates and warmup_epochs and warmup_epochs >= epochs
    ):  # the share of the warm-up depends on the size of the dataset
        changes["training.warmup_epochs"] = epochs - 1
    return changes


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def family_settings(raw: Mapping[str, Any], *, source: str) -> type[ModelSettings]:
    """Return the class of the model section's settings, by its key ``name``; GRPE's where it has none."""
    try:
        return settings_class(_family_name(raw))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _family_name(raw: Mapping[str, Any]) -> object:
    model = raw.get("model")
    return model.get("name", DEFAULT) if isinstance(model, Mapping) else DEFAULT


def expand_preset(raw: Mapping[str, Any], *, source: str) -> dict[str, Any]:
    """Return a copy of `raw` with ``model.preset`` replaced by the values it stands for; explicit ones win."""
    model = raw.get("model")
    if not isinstance(model, Mapping) or "preset" not in model:
        return dict(raw)
    preset = model["preset"]
    rest = {key: value for key, value in model.items() if key != "preset"}
    if preset is None:
        return {**raw, "model": rest}
    presets = family_settings(raw, source=source).PRESETS
    if not isinstance(preset, str) or preset not in presets:
        close = nearest(short(preset), list(presets))
        accepted = ", ".join(presets) or "none, this family has no presets"
        raise InputError(f"{source}: model.preset is {describe(preset)}{close}; accepted: {accepted}")
    return {**raw, "model": {**presets[preset], **rest}}
