"""What every reader of a file format yields: rows of cells, and where each of them is in the file."""

from collections.abc import Iterator, Sequence
from typing import Protocol

Row = tuple[int, list[str]]
"""Where a row is in the file, counted from 1 (see `Reader.noun`), and its cells."""


class NumberCell(str):
    """A cell that the file stores as a number, not as text; always written with a decimal point."""


class Reader(Protocol):
    """A file of rows under named columns; rows may have more or fewer cells than there are columns."""

    columns: list[str]
    notes: list[str]
    """What the user should know of how the file is read."""
    noun: str
    """What the number of a row counts: ``line``, or ``sheet row`` of a workbook."""

    def rows(self) -> Iterator[Row]:
        """Yield every row, from the first, each time it is called."""

    def types(self) -> list[str] | None:
        """Return the types of the columns, names of `grpe_dgl.data.tables.column_types`; None if the file has none."""

    def count(self) -> int | None:
        """Return the number of rows if that is known without reading all of them."""


def unused_names(wanted: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return the wanted names, with a number after those that are taken already."""
    names: list[str] = []
    for name in wanted:
        number, free = 2, name
        while free in taken or free in names:
            free = f"{name}_{number}"
            number += 1
        names.append(free)
    return names
