"""A table of molecules on disk, in any of the formats of `formats`; read row by row and never loaded whole."""

import difflib
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from grpe_dgl.data.tables.column_types import column_types
from grpe_dgl.data.tables.delimited import DelimitedReader
from grpe_dgl.data.tables.formats import open_reader
from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.smiles_column import ACCEPTED, COLUMN_NAMES, smiles_columns
from grpe_dgl.data.tables.text_file import reading
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted


class Table:
    """A file of rows under named columns.

    Rows are counted from 0, header and empty lines left out, as pandas counts them; lines are counted from 1, as
    editors do. Rows of blank cells at the end of the file, which spreadsheets leave there, are left out.

    Parameters
    ----------
    file
        Its name ends in one of `grpe_dgl.data.tables.formats.SUFFIXES`. What it is, its encoding, its compression and
        its separator are detected.
    sheet
        Of an Excel workbook; see `grpe_dgl.data.tables.excel.ExcelReader`.

    Attributes
    ----------
    columns : list[str]
    notes : list[str]
        What the user should know of how the file is read: its separator, its encoding, its sheet.
    noun : str
        What `Row` counts: ``line``, or ``sheet row``.
    """

    def __init__(self, file: Path, *, sheet: str | None = None) -> None:
        self.file = file
        self._reader = open_reader(file, sheet)
        self.columns = self._reader.columns
        self.notes = self._reader.notes
        self.noun = self._reader.noun
        if not any(self.columns):
            raise InputError(f"{file} is empty; accepted: a first line with the names of the columns")

    def place(self, column: str) -> int:
        """Return the position of the column `column`; raises an InputError that lists the columns."""
        column = column if column in self.columns else column.strip()
        if self.columns.count(column) == 1:
            return self.columns.index(column)
        if column in self.columns:
            raise InputError(f"{self.file} has {self.columns.count(column)} columns {column!r}; accepted: one")
        lower = {name.lower(): name for name in self.columns}
        near = difflib.get_close_matches(column.lower(), lower, 1)
        hint = f"; did you mean {lower[near[0]]!r}?" if near else self._no_names()
        raise InputError(f"{self.file} has no column {column!r}; it has {self._columns()}{hint}")

    def smiles_place(self, column: str | None = None) -> int:
        """Return the position of the column of molecules: the one called `column`, or the one with a usual name for it.

        Parameters
        ----------
        column
            Small and capital letters are taken for the same if only one column matches. None for the usual names, those
            of `grpe_dgl.data.tables.smiles_column`.
        """
        if column is not None:
            alike = [name for name in self.columns if name.lower() == column.strip().lower()]
            return self.place(alike[0] if len(alike) == 1 else column)
        found = smiles_columns(self.columns)
        exact = [place for place in found if self.columns[place] in COLUMN_NAMES]
        found = exact if len(exact) == 1 else found  # smiles, whatever SMILES may be beside it
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(repr(self.columns[place]) for place in found)
            raise InputError(f"{self.file} has {len(found)} columns of SMILES, {names}; accepted: one, or a choice")
        raise InputError(
            f"{self.file} has no column 'smiles'; it has {self._columns()}; accepted: {ACCEPTED}, or the choice of "
            f"another column{self._no_names()}"
        )

    def rows(self) -> Iterator[Row]:
        """Yield every row with the line it ends on (SDF: begins on), each with as many cells as there are columns."""
        width = len(self.columns)
        needed = max(i for i, name in enumerate(self.columns) if name) + 1
        row, blank, counted = 0, list[int](), self._reader.count() is not None
        for line, cells in self._reader.rows():
            if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
                cells = cells[:width]  # separators at the end of a line
            elif needed <= len(cells) < width:
                cells = cells + [""] * (width - len(cells))  # they are at the end of the first line alone
            if len(cells) != width:
                raise InputError(self._ragged(row + len(blank), line, cells))
            if not counted and not any(map(str.strip, cells)):
                blank.append(line)
                continue
            for empty in blank:
                yield empty, [""] * width
            row, blank = row + len(blank) + 1, []
            yield line, cells

    def chunks(self, size: int) -> Iterator[tuple[int, Sequence[Row]]]:
        """Yield `size` rows at a time, each time with the number of the first."""
        first, chunk = 0, list[Row]()
        for row in self.rows():
            chunk.append(row)
            if len(chunk) == size:
                yield first, chunk
                first, chunk = first + size, []
        if chunk:
            yield first, chunk

    def count(self) -> int:
        """Return the number of rows; for text, every row is read, and a malformed one raises."""
        known = self._reader.count()
        return sum(1 for _ in self.rows()) if known is None else known

    def types(self) -> list[str]:
        """Return the types of the columns, names of `grpe_dgl.data.tables.column_types`; it may read every row."""
        return self._reader.types() or column_types((cells for _, cells in self.rows()), len(self.columns))

    def at(self, row: int, line: int) -> str:
        """Return where a row is, for an error message."""
        return f"{self.file}, {self.where(row, line)}"

    def where(self, row: int, line: int) -> str:
        """Return where a row is in the file."""
        return f"row {row}" if self.noun == "row" else f"row {row} ({self.noun} {line})"

    def checksum(self) -> int:
        """Return the CRC-32 of the file."""
        value = 0
        with reading(self.file), self.file.open("rb") as stream:
            while block := stream.read(1 << 20):
                value = zlib.crc32(block, value)
        return value

    def _columns(self) -> str:
        return ", ".join(map(repr, self.columns[:20])) + (", ..." if len(self.columns) > 20 else "")

    def _no_names(self) -> str:
        """Return what is said of a text without names, or without columns, in its first line; nothing for others."""
        if not isinstance(self._reader, DelimitedReader):
            return ""
        if len(self.columns) == 1:
            return "; its first line must have the names of the columns, with commas, semicolons or tabs between them"
        return "; its first line must have the names of the columns" if any(map(_is_smiles, self.columns[:2])) else ""

    def _ragged(self, row: int, line: int, cells: list[str]) -> str:
        found = counted(len(cells), "cell")
        text = f"{self.at(row, line)}: {found}; accepted: {len(self.columns)}, as in the first line"
        if isinstance(self._reader, DelimitedReader) and len(cells) > len(self.columns):
            text += f" (columns are separated by {self._reader.separator_name}; a cell that has one is put in quotes)"
        return text


def _is_smiles(text: str) -> bool:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        try:
            return bool(text) and Chem.MolFromSmiles(text) is not None
        except Exception:  # whatever RDKit raises for one molecule
            return False
