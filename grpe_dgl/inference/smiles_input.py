"""What `Predictor.predict` takes for molecules: lists, arrays, Series, generators, and tables with a SMILES column."""

from collections.abc import Iterable, Mapping
from typing import Any

from grpe_dgl.data.tables.smiles_column import smiles_columns
from grpe_dgl.errors import InputError

SMILESInput = Iterable[str | None] | Mapping[str, Any]
"""SMILES, None for a missing one; or a table, of which a DataFrame is one too."""
_ACCEPTED = "accepted: a list, array, Series or generator of SMILES, or a table with a column of them"


def smiles_of(given: SMILESInput) -> list[str | None]:
    """Return the SMILES of any accepted input as a list, with None for those that are missing.

    Raises an InputError for anything else, such as one text, a set (which has no order) or a table without a column
    with a usual name for it (see `grpe_dgl.data.tables.smiles_column`).
    """
    if isinstance(given, str | bytes):
        raise InputError(f"smiles is the text {given!r}; accepted: a list of SMILES")
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        given = _column(given)
    if isinstance(given, set | frozenset) or not isinstance(given, Iterable):
        raise InputError(f"smiles is a {type(given).__name__}; {_ACCEPTED}")
    if getattr(given, "ndim", 1) != 1:
        raise InputError(f"smiles has shape {tuple(given.shape)}; {_ACCEPTED}")  # type: ignore[attr-defined]
    molecules: list[str | None] = []
    for place, text in enumerate(given):
        if isinstance(text, str):
            molecules.append(text)
        elif _is_missing(text):
            molecules.append(None)
        else:
            raise InputError(f"molecule {place} is {text!r}, not a text; {_ACCEPTED}")
    return molecules


def is_frame(given: Any) -> bool:
    """Whether an input is a pandas DataFrame; pandas is not loaded to find out."""
    return hasattr(given, "columns") and hasattr(given, "index") and hasattr(given, "iloc")


def _column(table: Any) -> Any:
    names = list(table if isinstance(table, Mapping) else table.columns)
    kind = type(table).__name__
    found = smiles_columns([str(name) for name in names])
    if len(found) > 1:
        raise InputError(f"smiles is a {kind} with {len(found)} columns called {names[found[0]]!r}; accepted: one")
    if found:
        return table[names[found[0]]]
    shown = ", ".join(repr(str(name)) for name in names[:10]) + (", ..." if len(names) > 10 else "")
    raise InputError(
        f"smiles is a {kind} with the columns {shown or '(none)'}; accepted: one that is called smiles, or the column "
        "itself"
    )


def _is_missing(value: Any) -> bool:
    """Whether a cell holds no text: None, NaN, or pandas' NA and NaT."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )
