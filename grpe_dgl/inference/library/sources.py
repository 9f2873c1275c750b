"""The files of a library: how many rows each has, what tells it from another, and the rows of a range."""

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT, column_types
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.inference.library.parquet import is_parquet, parquet_columns, parquet_count
from grpe_dgl.messages import counted

HASHED_WHOLE = 8 << 20
"""Files up to this size are hashed whole; of larger ones samples, the size and the time of the last change count."""
_SAMPLE = 64 << 10


@dataclass(frozen=True)
class Source:
    """One file of a library."""

    path: str
    size: int
    changed: int
    """When the file was last changed, in nanoseconds."""
    digest: str
    """Equal for equal content; see `HASHED_WHOLE`."""
    rows: int
    columns: tuple[str, ...]
    types: tuple[str, ...]
    """Of each column: of Parquet, Arrow's names; of text, those of `grpe_dgl.data.tables.column_types`."""
    error: str | None = None
    """Why the file cannot be read; it has no rows then."""

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return is_parquet(self.path)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Source":
        """Return the source that `to_dict` described."""
        return cls(**{**values, "columns": tuple(values["columns"]), "types": tuple(values["types"])})


def describe(path: Path, known: Source | None = None) -> Source:
    """Return a file's description; `known`, from an earlier run, is returned if the file has not changed since.

    A Parquet file's rows are counted from its footer. Text is read whole, which also finds malformed rows and the types
    of the columns.
    """
    try:
        stat = path.stat()
        if known is not None and (known.size, known.changed) == (stat.st_size, stat.st_mtime_ns) and not known.error:
            return dataclasses.replace(known, path=str(path))
        digest = _digest(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        return Source(str(path), 0, 0, "", 0, (), (), f"{path} cannot be read: {error.strerror}")
    try:
        if is_parquet(path.name):
            (columns, types), rows = parquet_columns(path), parquet_count(path)
        else:
            table = Table(path)
            columns, rows = table.columns, 0
            counter = itertools.count()
            types = column_types((cells for _, (_, cells) in zip(counter, table.rows(), strict=False)), len(columns))
            rows = next(counter) - 1
    except InputError as error:
        return Source(str(path), stat.st_size, stat.st_mtime_ns, digest, 0, (), (), str(error))
    return Source(str(path), stat.st_size, stat.st_mtime_ns, digest, rows, tuple(columns), tuple(types))


def common_columns(sources: Sequence[Source]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns, which all readable files must have, and for text the types with room for all."""
    readable = [source for source in sources if source.error is None]
    if not readable:
        raise InputError(sources[0].error or "")
    first = readable[0]
    types = list(first.types)
    for other in readable[1:]:
        if other.is_parquet != first.is_parquet:
            raise InputError(f"{first.path} and {other.path}: accepted: Parquet files or text, not both")
        if other.columns != first.columns:
            raise InputError(
                f"{other.path} has the columns {_listed(other.columns)}, {first.path} has {_listed(first.columns)}; "
                "accepted: files with the same columns in the same order"
            )
        if not first.is_parquet:
            types = [_wider(a, b) for a, b in zip(types, other.types, strict=True)]
    return first.columns, tuple(types)


def _wider(one: str, other: str) -> str:
    """Return the type that has room for the values of both."""
    if one == other:
        return one
    return NUMBER if {one, other} == {INTEGER, NUMBER} else TEXT


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ... ({counted(len(names), 'column')})" if len(names) > 10 else shown


def _digest(path: Path, size: int, changed: int) -> str:
    """Return a hash of a file's content, or of samples of it with its size and time."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        if size <= HASHED_WHOLE:
            total.update(file.read())
        else:
            total.update(f"{size} {changed}".encode())
            for place in range(64):
                file.seek((size - _SAMPLE) * place // 63)
                total.update(file.read(_SAMPLE))
    return total.hexdigest()
