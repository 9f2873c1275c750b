"""Text with a first line of names and separators between the cells: CSV, TSV and their like."""

import csv
from collections.abc import Iterator
from typing import Any

from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.separator import NAMES, detect_separator
from grpe_dgl.data.tables.text_file import TextFile
from grpe_dgl.errors import InputError


class DelimitedReader:
    """A text table; its separator is detected.

    Parameters
    ----------
    text
        The file.
    expected
        The separator that the file's name promises, or None if it promises none.
    """

    noun = "line"

    def __init__(self, text: TextFile, expected: str | None) -> None:
        self._text = text
        self.notes = list(text.notes)
        lines = text.head()
        before = next((i for i, line in enumerate(lines) if line.strip()), 0)
        # Excel's own way to name the separator
        stated = lines[before].strip().strip('"') if lines else ""
        if stated.lower().startswith("sep=") and len(stated) == 5:
            self._separator, self._skip = stated[4], 1
        else:
            self._separator, self._skip = detect_separator(lines[before:], expected or ","), 0
        with self._text.open() as stream:
            names = next(self._records(stream), (0, list[str]()))[1]
        self.columns = [name.strip() for name in names]
        if len(self.columns) > 1 and self._separator != expected:
            self.notes.append(f"{text.path.name}: columns are separated by {self.separator_name}")

    @property
    def separator_name(self) -> str:
        """The noun for the separator."""
        return NAMES.get(self._separator, repr(self._separator))

    def rows(self) -> Iterator[Row]:
        """Yield every row with the line it ends on."""
        with self._text.open() as stream:
            records = self._records(stream)
            next(records, None)
            yield from records

    def types(self) -> None:
        """Return None: text has no types."""

    def count(self) -> None:
        """Return None: the lines have to be read."""

    def _records(self, stream: Any) -> Iterator[Row]:
        # strict: else a quote that is never closed swallows the rows after it
        reader = csv.reader(stream, delimiter=self._separator, strict=True)
        last, skip, found = 1, self._skip, False
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                reason = "a quote is never closed" if "unexpected end" in str(error) else str(error)
                raise InputError(f"{self._text.path}, after line {last}: {reason}") from None
            if cells is None:
                return
            last = reader.line_num
            blank = len(cells) == 1 and cells[0].isspace()
            if not cells or blank or (not found and not any(cell.strip() for cell in cells)):
                continue  # an empty line, one of blanks, or one of separators alone before the names
            if skip:
                skip -= 1
                continue
            found = True
            yield last, cells
