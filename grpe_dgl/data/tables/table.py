"""A table of molecules on disk: CSV, gzipped CSV, or a .smi file; read row by row and never loaded whole."""

import csv
import difflib
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from grpe_dgl.errors import InputError

Row = tuple[int, list[str]]
"""The line on which a row ends, counted from 1, and its cells."""


SUFFIXES = (".csv", ".csv.gz", ".smi", ".smi.gz")


def is_table(name: str) -> bool:
    """Return whether a file of this name is a table."""
    return name.lower().endswith(SUFFIXES)


class Table:
    """A file of rows under named columns.

    A .smi file has no header: its columns, separated by blanks, are called ``smiles``, ``2``, ``3``, ... Rows are
    counted from 0, header and empty lines left out, as pandas counts them; lines are counted from 1, as editors do.

    Parameters
    ----------
    file
        Its name ends in .csv, .csv.gz, .smi or .smi.gz.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        if not is_table(file.name):
            raise InputError(f"{file}: accepted are names that end in .csv, .csv.gz, .smi or .smi.gz")
        self._plain = file.name.lower().removesuffix(".gz").endswith(".smi")
        with self._open() as stream:
            if self._plain:
                width = len(next((line for line in stream if line.strip()), "").split())
                # The first line may lack a name that others have, so there are at least two columns.
                self.columns = ["smiles", *(str(i + 1) for i in range(1, max(width, 2)))] if width else []
            else:
                self.columns = [name.strip() for name in next(csv.reader(stream), [])]
        if not any(self.columns):
            wanted = "a SMILES in every line" if self._plain else "a first line with the names of the columns"
            raise InputError(f"{file} is empty; accepted: {wanted}")

    def place(self, column: str) -> int:
        """Return the position of the column `column`; raises an InputError that lists the columns."""
        if self.columns.count(column) == 1:
            return self.columns.index(column)
        if column in self.columns:
            raise InputError(f"{self.file} has {self.columns.count(column)} columns {column!r}; accepted: one")
        lower = {name.lower(): name for name in self.columns}
        near = difflib.get_close_matches(column.lower(), lower, 1)
        hint = f"; did you mean {lower[near[0]]!r}?" if near else ""
        raise InputError(f"{self.file} has no column {column!r}; it has {', '.join(map(repr, self.columns))}{hint}")

    def rows(self) -> Iterator[Row]:
        """Yield every row with the line it ends on."""
        with self._open() as stream:
            for row, (line, cells) in enumerate(self._smi(stream) if self._plain else self._csv(stream)):
                if len(cells) != len(self.columns):
                    raise InputError(
                        f"{self.at(row, line)}: {len(cells)} cells; accepted: {len(self.columns)}, as in the first line"
                    )
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

    def at(self, row: int, line: int) -> str:
        """Return where a row is, for an error message."""
        return f"{self.file}, row {row} (line {line})"

    def checksum(self) -> int:
        """Return the CRC-32 of the file."""
        value = 0
        try:
            with self.file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    value = zlib.crc32(block, value)
        except OSError as error:
            raise InputError(f"{self.file} cannot be read: {error.strerror}") from None
        return value

    def _csv(self, stream: TextIO) -> Iterator[Row]:
        reader = csv.reader(stream, strict=True)  # else a quote that is never closed swallows the rows after it
        next(reader, None)
        last = 1
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                reason = "a quote is never closed" if "unexpected end" in str(error) else str(error)
                raise InputError(f"{self.file}, after line {last}: {reason}") from None
            if cells is None:
                return
            last = reader.line_num
            if cells:
                yield last, cells

    def _smi(self, stream: TextIO) -> Iterator[Row]:
        width = len(self.columns)
        for line, text in enumerate(stream, 1):
            # The last column may be a name of several words, or missing.
            if cells := text.split(maxsplit=width - 1):
                yield line, [cell.strip() for cell in cells] + [""] * (width - len(cells))

    @contextmanager
    def _open(self) -> Iterator[TextIO]:
        try:
            # utf-8-sig: skips the byte order mark that spreadsheets write before the first column's name
            with (gzip.open if self.file.suffix.lower() == ".gz" else open)(
                self.file, "rt", encoding="utf-8-sig", newline=""
            ) as stream:
                yield stream
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file} is not text in UTF-8: {error.reason} at byte {error.start}") from None
        except (csv.Error, EOFError, zlib.error) as error:
            raise InputError(f"{self.file} cannot be read: {error}") from None
        except OSError as error:
            raise InputError(f"{self.file} cannot be read: {error.strerror or error}") from None
