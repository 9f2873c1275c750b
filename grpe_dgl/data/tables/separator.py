"""Which character separates the columns of a text table."""

import csv
from collections.abc import Sequence

from grpe_dgl.data.tables.smiles_column import smiles_columns

NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
_ROWS = 200  # that are looked at


def detect_separator(lines: Sequence[str], expected: str) -> str:
    """Return the separator of a table's first lines: comma, semicolon or tab.

    It divides the first line into columns. Among several that do, the one is taken that leaves a column with a usual
    name for SMILES, then the one by which most rows have as many cells as the first line, then the one with more
    columns, then `expected`.

    Parameters
    ----------
    lines
        The first one with the names of the columns.
    expected
        What the file's name promises.
    """
    best, best_score = expected, (False, False, 0.0, 0, False)
    for separator in NAMES:
        try:
            rows = [row for row in csv.reader(lines[:_ROWS], delimiter=separator) if row]
        except csv.Error:
            continue
        if not rows:
            continue
        header, *others = rows
        width = len(header)
        alike = sum(_width(row, width) == width for row in others) / max(1, len(others))
        score = (width > 1, bool(smiles_columns(header)), alike, width, separator == expected)
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def _width(row: list[str], width: int) -> int:
    """Return the number of cells without blank ones beyond `width`, which separators at the end of a line make."""
    while len(row) > width and not row[-1].strip():
        row = row[:-1]
    return len(row)
