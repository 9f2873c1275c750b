"""The type of each column of a table of texts: whole numbers, numbers or text."""

import re
from collections.abc import Iterable, Sequence

INTEGER, NUMBER, TEXT = "int64", "float64", "string"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # 007 is a text, and so is what int64 does not hold
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|nan|NaN|NA")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


def column_types(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Return the type of each of `width` columns: `INTEGER`, `NUMBER` or `TEXT`.

    A column is as narrow as all its cells allow; blank cells are missing values of any type, and a column of blank
    cells alone is a text.
    """
    types: list[str | None] = [None] * width
    for cells in rows:
        for i, cell in enumerate(cells):
            if types[i] == TEXT or not cell:
                continue
            if types[i] != NUMBER and _INTEGER.fullmatch(cell):
                types[i] = INTEGER
            elif _NUMBER.fullmatch(cell) and not _LEADING_ZERO.match(cell) and not cell.isdigit():
                types[i] = NUMBER
            elif types[i] == NUMBER and _INTEGER.fullmatch(cell):
                continue
            else:
                types[i] = TEXT
    return [kind or TEXT for kind in types]


def parse(cells: Sequence[str], kind: str) -> list[str | int | float | None]:
    """Return the values of a column's cells in the type that `column_types` found."""
    if kind == TEXT:
        return list(cells)
    if kind == INTEGER:
        return [int(cell) if cell else None for cell in cells]
    return [None if cell.lower() in ("", "na", "nan") else float(cell) for cell in cells]
