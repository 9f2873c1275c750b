"""The section ``search`` of a recipe: which keys a search may change, and between which values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short

KEYS = ("low", "high", "step", "log")
ACCEPTED = "a list of values, or a mapping with low and high, and step or log: true"
Value = bool | int | float | str | None


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Range:
    """A number between two, whole if both are; on a logarithmic scale or in steps where asked for."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        return isinstance(self.low, int) and isinstance(self.high, int)


Space = dict[str, Choice | Range]
"""What a search changes, by full key: ``model.layers``."""


def read_space(section: Mapping[str, object]) -> Space:
    """Return the search space of a recipe's section; raises an InputError that names the key of a wrong entry.

    >>> read_space({"model.layers": {"low": 2, "high": 6}, "training.batch_size": [16, 32]})["training.batch_size"]
    Choice(values=(16, 32))
    """
    return {key: _entry(f"search.{key}", value) for key, value in section.items()}


def _entry(key: str, value: object) -> Choice | Range:
    if key.split(".")[1] not in ("model", "training") or key.count(".") != 2:
        raise InputError(f"{key}: accepted: full keys of model and training, such as search.model.layers")
    if isinstance(value, Sequence) and not isinstance(value, str):
        values = tuple(value)
        if not values or not all(each is None or isinstance(each, bool | int | float | str) for each in values):
            raise InputError(f"{key} is {short(value)}; accepted: {ACCEPTED}")
        if len(set(map(repr, values))) < len(values):
            raise InputError(f"{key} is {short(value)}; accepted: every value once")
        return Choice(values)
    if not isinstance(value, Mapping) or not {"low", "high"} <= set(value) <= set(KEYS):
        raise InputError(f"{key} is {short(value)}; accepted: {ACCEPTED}")
    low, high, step, log = (value.get(name) for name in KEYS)
    for name, number in (("low", low), ("high", high), *([("step", step)] if step is not None else [])):
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise InputError(f"{key}.{name} is {short(number)}; accepted: a number")
    if log not in (None, True, False):
        raise InputError(f"{key}.log is {short(log)}; accepted: true or false")
    assert isinstance(low, int | float) and isinstance(high, int | float)
    if low >= high:
        raise InputError(f"{key} is from {low} to {high}; accepted: low less than high")
    if log and (low <= 0 or step is not None):
        raise InputError(f"{key} has log: true with low {low} and step {step}; accepted: low above 0, no step")
    if step is not None and step <= 0:
        raise InputError(f"{key}.step is {step}; accepted: above 0")
    whole = isinstance(low, int) and isinstance(high, int)
    if whole and step is not None and not isinstance(step, int):
        whole, low, high = False, float(low), float(high)
    return Range(low, high, step, bool(log))
