"""Rows of Parquet files in ranges, with every column in its own type."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError

NO_PYARROW = "Parquet needs the package pyarrow; install grpe-dgl[parquet]"


def require_pyarrow(why: str) -> None:
    """Raise an InputError that begins with `why` if pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(f"{why}: {NO_PYARROW}") from None


def is_parquet(name: str) -> bool:
    """Return whether a file of this name is a Parquet file."""
    return name.lower().endswith((".parquet", ".pq"))


def parquet_columns(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of a file's columns and their Arrow types."""
    with _opened(path) as file:
        schema = file.schema_arrow
        return list(schema.names), [str(field.type) for field in schema]


def parquet_count(path: Path) -> int:
    """Return a file's number of rows."""
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def common_schema(paths: Sequence[Path]) -> Any:
    """Return the Arrow schema that has room for the columns of all files: int64 for int32 and int64, text for null."""
    import pyarrow

    schema = None
    for path in paths:
        with _opened(path) as file:
            own = file.schema_arrow.remove_metadata()
        try:
            schema = own if schema is None else pyarrow.unify_schemas([schema, own], promote_options="permissive")
        except pyarrow.ArrowException as error:
            raise InputError(
                f"{path} has columns of other types than {paths[0]}: {' '.join(str(error).split())}"
            ) from None
    return schema


def parquet_range(path: Path, first: int, last: int, schema: Any) -> Any:
    """Return the rows `first` to `last`, exclusive, as an Arrow table with the types of `schema`.

    Only the row groups that have them are read.
    """
    import pyarrow

    with _opened(path) as file:
        groups, begin, end = [], None, 0
        for group in range(file.metadata.num_row_groups):
            start, end = end, end + file.metadata.row_group(group).num_rows
            if start < last and end > first:
                groups.append(group)
                begin = start if begin is None else begin
        batches: list[Any] = []
        place = begin or 0
        for batch in file.iter_batches(batch_size=10_000, row_groups=groups):
            low, high = max(first - place, 0), min(last - place, len(batch))
            place += len(batch)
            if low < high:
                batches.append(batch.slice(low, high - low))
            if place >= last:
                break
        return pyarrow.Table.from_batches(batches, schema=file.schema_arrow).cast(schema)


def texts_of(column: Any, path: Sequence[str]) -> list[str]:
    """Return a column of SMILES as texts, "" for nulls; `path` names the files for the error of another type."""
    import pyarrow

    try:
        values = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException:
        raise InputError(f"{', '.join(path)}: the column of SMILES is of type {column.type}; accepted: texts") from None
    return ["" if value is None else value.strip() for value in values]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(NO_PYARROW) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except pyarrow.ArrowException as error:
        raise InputError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or ' '.join(str(error).split())}") from None
