"""Convert a plain mapping to a dataclass; errors name the full key, what was found and what is accepted."""

import dataclasses
import difflib
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest, short

T = TypeVar("T")
KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read(cls: type[T], raw: object, *, source: str, path: str = "", sections: Mapping[str, type] | None = None) -> T:
    """Make a dataclass from the content of a YAML file.

    Parameters
    ----------
    cls
        The dataclass. Its fields are int, float, bool, str, a Literal, a tuple of one of these, another dataclass or a
        Mapping from str, each possibly ``| None``. The class attributes ``SHORTHANDS`` and ``READ_BEFORE`` name further
        keys that a file may have; they were resolved before, and are listed as accepted in errors. The first stand for
        several keys.
    raw
        A mapping.
    source
        The file, for errors.
    path
        The key of `raw` itself, for errors; empty at the top.
    sections
        The class of a field whose own type is a base class, by its name.
    """
    where = path or "the recipe"
    if not isinstance(raw, Mapping):
        raise InputError(f"{source}: {where} is {describe(raw)}; accepted: a mapping of keys to values")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = {**get_type_hints(cls), **(sections or {})}
    shorthands = getattr(cls, "SHORTHANDS", ())
    accepted = [*getattr(cls, "READ_BEFORE", ()), *shorthands, *fields]
    for key in raw:
        if key not in fields:
            raise InputError(
                f"{source}: {join(path, short_key(key))} is not a key of a recipe"
                f"{nearest(short_key(key), accepted, join(path, '')) or _nearest_inside(short_key(key), hints)}; "
                f"accepted {f'in {path}' if path else 'at the top'}: {', '.join(accepted)}"
            )
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in raw:
            instead = "".join(f", or {join(path, shorthand)} instead" for shorthand in shorthands)
            raise InputError(f"{source}: {join(path, name)} is missing; accepted: {kind_of(hints[name])}{instead}")
    values = {
        str(key): convert(hints[str(key)], value, source=source, path=join(path, key)) for key, value in raw.items()
    }
    try:
        return cls(**values)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def convert(hint: Any, value: object, *, source: str, path: str) -> Any:
    """Return `value` converted to the type `hint`, or raise."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if value is None and type(None) in options:
        return None
    inner = next(option for option in options if option is not type(None))
    if get_origin(inner) is Literal and value in get_args(inner):
        return value
    if get_origin(inner) is tuple and isinstance(value, (list, tuple)):
        element = get_args(inner)[0]
        return tuple(convert(element, item, source=source, path=f"{path}[{index}]") for index, item in enumerate(value))
    if get_origin(inner) is Mapping and isinstance(value, Mapping):
        element = get_args(inner)[1]
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{source}: {path} has the key {describe(key)}; accepted: a text")
        return {key: convert(element, item, source=source, path=join(path, key)) for key, item in value.items()}
    if dataclasses.is_dataclass(inner) and isinstance(inner, type):
        return read(inner, value, source=source, path=path)
    if inner is object:
        return value
    if inner is float:
        number = as_float(value)
        if number is not None:
            return number
    elif inner is str and isinstance(value, str) and not _is_text(value):
        raise InputError(f"{source}: {path} is {short(value)}, with a character that is not text; accepted: a text")
    elif inner in KINDS and type(value) is inner:
        return value
    choices = [str(choice) for choice in get_args(inner)] if get_origin(inner) is Literal else []
    hint_text = nearest(short_key(value), choices) if choices else ""
    quoted = "; put it in quotes" if inner is str and not isinstance(value, (Mapping, list)) else ""
    raise InputError(f"{source}: {path} is {describe(value)}{hint_text}; accepted: {kind_of(hint)}{quoted}")


def as_float(value: object) -> float | None:
    """Return a finite number as a float, else None; texts are converted too, because YAML reads ``2e-4`` as one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_text(value: str) -> bool:
    """Whether a text can be printed and written to a file: no control characters but line breaks and tabs."""
    return not any(
        character < " " and character not in "\n\r\t" or "\ud800" <= character <= "\udfff" for character in value
    )


def kind_of(hint: Any) -> str:
    """Describe the values that a type accepts: ``a whole number or null``."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join("null" if option is type(None) else kind_of(option) for option in get_args(hint))
    if get_origin(hint) is Literal:
        return ", ".join(str(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list, each {kind_of(get_args(hint)[0])}"
    return KINDS.get(hint, "a mapping of keys to values")


def describe(value: object) -> str:
    """Describe a value that was found: ``'abc' (a text)``."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"the list {short(list(value))}"
    return f"{short(value)} ({KINDS.get(type(value), type(value).__name__)})"


def _nearest_inside(key: str, hints: Mapping[str, Any]) -> str:
    """Return `` (did you mean model.layers?)`` if `key` is close to a key of one of the sections, else nothing."""
    full_keys: dict[str, str] = {}
    for section, hint in hints.items():
        for option in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(option):
                for name in (*getattr(option, "SHORTHANDS", ()), *(field.name for field in dataclasses.fields(option))):
                    full_keys.setdefault(name, join(section, name))
    close = difflib.get_close_matches(key, full_keys, n=1)
    return f" (did you mean {full_keys[close[0]]}?)" if close else ""


def short_key(key: object) -> str:
    """Return a key of a file as text that can be shown."""
    return key if isinstance(key, str) and len(key) <= 80 else short(key)


def join(path: str, key: object) -> str:
    """Return the full key of `key` inside `path`."""
    return f"{path}.{key}" if path else str(key)
