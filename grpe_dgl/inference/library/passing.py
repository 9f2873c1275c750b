"""Writers that pass the columns of an Arrow table on: in their own types to Parquet, as texts to CSV."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.tables.column_types import INTEGER, TEXT, parse
from grpe_dgl.inference.row_groups import RowGroups
from grpe_dgl.inference.writers import Writer, open_table
from grpe_dgl.io.atomic_file import atomic_file

Array = npt.NDArray[Any]


@contextlib.contextmanager
def open_passing(
    path: Path, table: Any, texts: Sequence[str], text_types: Sequence[str], numbers: Sequence[str], error: str
) -> Iterator[Writer]:
    """Yield a writer whose rows begin with the number of a row of `table`, in place of which its columns are written.

    Parameters
    ----------
    path
        Ends in .parquet, .csv or .csv.gz; the file appears when the block ends without an error.
    table
        An Arrow table.
    texts, text_types, numbers, error
        The names of the columns that are added, and the types of `texts`.
    """
    if path.name.endswith(".parquet"):
        with atomic_file(path) as temporary:
            writer = _PassingParquet(temporary, table, texts, text_types, numbers, error)
            yield writer
            writer.close()
        return
    with open_table(path, [*table.column_names, *texts], numbers, error) as plain:
        yield _PassingTexts(plain, table)


class _PassingTexts:
    def __init__(self, writer: Writer, table: Any) -> None:
        self._writer, self._table = writer, table

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        columns = [map(_as_text, column.to_pylist()) for column in _chosen(self._table, texts).columns]
        cells = [list(row) for row in zip(*columns, strict=True)]
        more = [[*own, *row[1:]] for own, row in zip(cells, texts, strict=True)]
        self._writer.write(more, numbers, errors)


class _PassingParquet:
    def __init__(
        self,
        path: Path,
        table: Any,
        texts: Sequence[str],
        text_types: Sequence[str],
        numbers: Sequence[str],
        error: str,
    ) -> None:
        import pyarrow

        self._arrow, self._table, self._text_types = pyarrow, table, text_types
        added = [(name, pyarrow.int64() if kind == INTEGER else pyarrow.string())
                 for name, kind in zip(texts, text_types, strict=True)]  # fmt: skip
        added += [(name, pyarrow.float32()) for name in numbers]
        fields = [*table.schema, *(pyarrow.field(*pair) for pair in added), pyarrow.field(error, pyarrow.string())]
        self._schema = pyarrow.schema(fields)
        self._groups = RowGroups(path, self._schema)

    def write(self, texts: Sequence[Sequence[str]], numbers: Array, errors: Sequence[str | None]) -> None:
        columns = list(_chosen(self._table, texts).columns)
        for place, kind in enumerate(self._text_types, 1):
            values = parse([row[place] for row in texts], kind)
            columns.append(self._arrow.array([value if value != "" else None for value in values]
                                             if kind == TEXT else values))  # fmt: skip
        for column in numbers.astype(np.float32, copy=False).T:
            columns.append(self._arrow.array(column, from_pandas=True))
        columns.append(self._arrow.array(list(errors), self._arrow.string()))
        arrays = [
            column.cast(field.type) if column.type != field.type else column
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._groups.add(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        self._groups.close()


def _chosen(table: Any, texts: Sequence[Sequence[str]]) -> Any:
    """Return the rows of `table` whose numbers are the first cells; a node task has several rows for one molecule."""
    return table.take([int(row[0]) for row in texts])


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
