"""Excel workbooks (.xlsx), row by row."""

import datetime
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from grpe_dgl.data.tables.rows import NumberCell, Row
from grpe_dgl.data.tables.smiles_column import smiles_columns
from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest

_FAILURES = (OSError, EOFError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, ParseError)


class ExcelReader:
    """One sheet of a workbook; its first row that is not empty has the names of the columns.

    Parameters
    ----------
    path
        The workbook.
    sheet
        The name of the sheet; None for the first one with a column of SMILES or, if none has one, the first that is not
        empty.
    """

    noun = "sheet row"

    def __init__(self, path: Path, sheet: str | None) -> None:
        try:
            import openpyxl
        except ImportError:
            raise InputError(
                f"{path}: Excel workbooks need the package openpyxl; install grpe-dgl[excel], or save the sheet as CSV"
            ) from None
        self._openpyxl: Any = openpyxl
        self._path = path
        self.notes: list[str] = []
        with self._workbook() as book:
            # Sheets with cells; a chart has a sheet of its own, without any.
            names = [each.title for each in book.worksheets]
            headers = {name: self._header(book[name]) for name in names}
        if sheet is not None and sheet not in names:
            raise InputError(
                f"{path} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}{nearest(sheet, names)}"
            )
        filled = [name for name in names if any(headers[name][1])]
        candidates = [name for name in filled if smiles_columns(headers[name][1])] or filled or names
        if not candidates:
            raise InputError(f"{path} has no sheet with cells")
        self._sheet = sheet if sheet is not None else candidates[0]
        self._first, self.columns = headers[self._sheet]
        if sheet is None and len(filled) > 1:
            self.notes.append(
                f"{path.name}: read from the sheet {self._sheet!r}; it also has "
                f"{', '.join(repr(name) for name in filled if name != self._sheet)}"
            )
        self._has_formulas = self._find_formulas()

    def rows(self) -> Iterator[Row]:
        """Yield every row with its number in the sheet."""
        with self._workbook() as book:
            if not self._has_formulas:
                yield from self._texts(book, None)
                return
            with self._workbook(values=False) as formulas:
                yield from self._texts(book, self._cells(formulas))

    def types(self) -> None:
        """Return None: every cell of a sheet has a type of its own."""

    def count(self) -> None:
        """Return None: a sheet's own count includes empty rows."""

    def _texts(self, book: Any, formulas: Iterator[Any] | None) -> Iterator[Row]:
        width = len(self.columns)
        for number, values in enumerate(self._cells(book), 1):
            unsaved = next(formulas) if formulas is not None else ()
            if number <= self._first:
                continue
            for place, (value, formula) in enumerate(zip(values, unsaved, strict=False)):
                if value is None and isinstance(formula, str) and formula.startswith("="):
                    cell = f"{self._openpyxl.utils.get_column_letter(place + 1)}{number}"
                    raise InputError(
                        f"{self._path}, sheet {self._sheet!r}, cell {cell}: {formula!r} has no saved value; accepted: "
                        "a workbook that a spreadsheet program has computed and saved"
                    )
            cells = [_text(value) for value in values]
            while len(cells) > width and not cells[-1]:
                cells.pop()
            yield number, cells + [""] * (width - len(cells))

    def _cells(self, book: Any) -> Iterator[tuple[Any, ...]]:
        sheet = book[self._sheet]
        sheet.reset_dimensions()  # some programs write wrong ones, by which rows would be cut
        yield from sheet.iter_rows(values_only=True)

    def _header(self, sheet: Any) -> tuple[int, list[str]]:
        """Return the number of the first row that is not empty, and its texts without the blank ones at its end."""
        sheet.reset_dimensions()
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            names = [_text(value).strip() for value in values]
            while names and not names[-1]:
                names.pop()
            if names:
                return number, [str(name) for name in names]
        return 0, []

    def _find_formulas(self) -> bool:
        """Return whether any sheet has a formula: reading those takes twice as long."""
        with zipfile.ZipFile(self._path) as archive:
            for name in archive.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    with archive.open(name) as stream:
                        rest = b""
                        while block := stream.read(1 << 20):
                            if b"<f>" in rest + block or b"<f " in rest + block:
                                return True
                            rest = block[-2:]
        return False

    @contextmanager
    def _workbook(self, *, values: bool = True) -> Iterator[Any]:
        """Yield the workbook, with the values of formulas or the formulas themselves."""
        try:
            # Opened here, because openpyxl refuses names that do not end in .xlsx.
            with self._path.open("rb") as stream:
                with warnings.catch_warnings():  # of styles and extensions that have nothing to do with the cells
                    warnings.simplefilter("ignore")
                    book = self._openpyxl.load_workbook(stream, read_only=True, data_only=values)
                yield book
                book.close()
        except InputError:
            raise
        except _FAILURES as error:
            raise InputError(f"{self._path} cannot be read as an Excel workbook: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__).splitlines()[0]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return NumberCell(int(value))
    if isinstance(value, int | float):
        return NumberCell(repr(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
