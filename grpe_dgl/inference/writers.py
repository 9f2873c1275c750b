"""Tables that are written row by row: CSV, gzipped CSV, Parquet, and .npy for numbers alone."""

import contextlib
import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT, parse
from grpe_dgl.data.tables.rows import unused_names
from grpe_dgl.errors import InputError
from grpe_dgl.inference.row_groups import RowGroups
from grpe_dgl.io.atomic_file import atomic_file

Array = npt.NDArray[Any]


class Writer(Protocol):
    """A writer of rows."""

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        """Append R rows: text cells, numbers (R, C) with NaN for none, and the error of each, or None."""


class CSVWriter:
    """Rows as CSV: texts, numbers, error."""

    def __init__(self, stream: TextIO, texts: Sequence[str], numbers: Sequence[str], error: str) -> None:
        self._writer = csv.writer(stream, lineterminator="\n")
        self._writer.writerow([*texts, *numbers, error])

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        """Append rows; NaN is an empty cell."""
        for cells, values, error in zip(texts, numbers.tolist(), errors, strict=True):
            self._writer.writerow([*cells, *("" if x != x else f"{x:.7g}" for x in values), error or ""])


class ParquetWriter:
    """Rows as Parquet: text columns, float32 columns with nulls for NaN, and the error."""

    def __init__(
        self, path: Path, texts: Sequence[str], numbers: Sequence[str], error: str, types: Sequence[str] | None = None
    ) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise InputError("Parquet needs the package pyarrow; install grpe-dgl[parquet]") from None
        self._arrow = pyarrow
        self._types = list(types) if types is not None else [TEXT] * len(texts)
        arrow_types = {TEXT: pyarrow.string(), INTEGER: pyarrow.int64(), NUMBER: pyarrow.float64()}
        own = ((name, arrow_types[kind]) for name, kind in zip(texts, self._types, strict=True))
        fields = [*own, *((name, pyarrow.float32()) for name in numbers)]
        self._schema = pyarrow.schema([*fields, (error, pyarrow.string())])
        self._groups = RowGroups(path, self._schema)

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        """Append rows; NaN and no error are nulls."""
        width = len(self._schema) - 1 - numbers.shape[1]
        columns = [
            self._arrow.array(parse([cells[i] for cells in texts], self._types[i]), self._schema.field(i).type)
            for i in range(width)
        ]
        columns += [
            self._arrow.array(numbers[:, i].astype(np.float32), from_pandas=True) for i in range(numbers.shape[1])
        ]
        columns.append(self._arrow.array(list(errors), self._arrow.string()))
        self._groups.add(self._arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._groups.close()


class NumpyWriter:
    """The numbers alone as one float32 array, a row of NaN where there was an error."""

    def __init__(self, stream: IO[bytes], width: int) -> None:
        self._stream, self._width, self._rows = stream, width, 0
        self._header()

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        """Append the numbers."""
        self._stream.write(np.ascontiguousarray(numbers, "<f4").tobytes())
        self._rows += len(numbers)

    def close(self) -> None:
        """Write the header again, now that the number of rows is known; numpy leaves room in it for that."""
        self._stream.seek(0)
        self._header()

    def _header(self) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, self._width)}
        text = io.BytesIO()
        np.lib.format.write_array_header_1_0(text, header)
        self._stream.write(text.getvalue())


@contextlib.contextmanager
def open_table(
    path: Path,
    texts: Sequence[str],
    numbers: Sequence[str],
    error: str,
    types: Callable[[], Sequence[str]] | None = None,
    *,
    replace: bool = True,
) -> Iterator[Writer]:
    """Yield a writer of the kind that the file's name ends in; the file appears when the block ends without an error.

    Parameters
    ----------
    path
        Ends in .csv, .csv.gz, .parquet or .npy.
    texts, numbers, error
        The names of the columns.
    types
        Returns the types of the columns `texts`, names of `grpe_dgl.data.tables.column_types`, which a Parquet file
        keeps; None makes them texts.
    replace
        Whether a file that is there at the end is replaced; otherwise it is an error.
    """
    name = path.name.lower()
    with atomic_file(path, replace=replace) as temporary:
        if name.endswith((".csv", ".csv.gz")):
            with (gzip.open if name.endswith(".gz") else open)(temporary, "wt", encoding="utf-8", newline="") as stream:
                yield CSVWriter(stream, texts, numbers, error)
        elif name.endswith(".parquet"):
            # Many programs cannot read a file with two columns of the same name.
            *names, error = unused_names([*texts, *numbers, error], ())
            kinds = None if types is None else types()
            parquet = ParquetWriter(temporary, names[: len(texts)], names[len(texts) :], error, kinds)
            yield parquet
            parquet.close()
        elif name.endswith(".npy"):
            with temporary.open("wb") as binary:
                array = NumpyWriter(binary, len(numbers))
                yield array
                array.close()
        else:
            raise InputError(f"{path}: accepted: a name that ends in .csv, .csv.gz, .parquet or .npy")
