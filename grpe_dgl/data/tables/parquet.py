"""Parquet tables, batch of rows by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT
from grpe_dgl.data.tables.rows import NumberCell, Row
from grpe_dgl.errors import InputError

_BATCH = 2000  # rows


class ParquetReader:
    """A Parquet file; nulls and NaN are blank cells."""

    noun = "row"

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise InputError(
                f"{path}: Parquet needs the package pyarrow; install grpe-dgl[parquet], or save the table as CSV"
            ) from None
        self._arrow: Any = pyarrow
        self._path = path
        self.notes: list[str] = []
        with self._open() as file:
            schema = file.schema_arrow
            self._rows = int(file.metadata.num_rows)
        self.columns = [name.strip() for name in schema.names]
        kinds = self._arrow.types
        self._types = [
            INTEGER if kinds.is_integer(kind) else NUMBER if kinds.is_floating(kind) else TEXT for kind in schema.types
        ]

    def rows(self) -> Iterator[Row]:
        """Yield every row with its number, counted from 1."""
        number = 0
        with self._open() as file:
            for batch in file.iter_batches(_BATCH):
                columns = [_texts(column) for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    yield number, list(cells)

    def types(self) -> list[str]:
        """Return the types of the columns."""
        return self._types

    def count(self) -> int:
        """Return the number of rows."""
        return self._rows

    def _open(self) -> Any:
        return _File(self._path, self._arrow)


class _File:
    """An open Parquet file whose errors are InputErrors."""

    def __init__(self, path: Path, arrow: Any) -> None:
        self._path, self._arrow = path, arrow

    def __enter__(self) -> Any:
        try:
            self._file = self._arrow.parquet.ParquetFile(self._path)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._error(error) from None
        return self._file

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        if isinstance(error, self._arrow.ArrowException | OSError):
            raise self._error(error) from None

    def _error(self, error: BaseException) -> InputError:
        return InputError(f"{self._path} cannot be read: {str(error).splitlines()[0] if str(error) else error!r}")


def _texts(column: Any) -> list[str]:
    values = column.to_pylist()
    if str(column.type) == "float":  # float32: its own digits, not those of the float64 it becomes
        values = [None if value is None else float(f"{value:.7g}") for value in values]
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return NumberCell(repr(value))
    return str(value)
