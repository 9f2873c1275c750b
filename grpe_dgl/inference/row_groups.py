"""A Parquet file that is written in few large row groups."""

from pathlib import Path
from typing import Any

ROW_GROUP_BYTES = 128 << 20


class RowGroups:
    """Collect Arrow tables and write them as row groups of at least `ROW_GROUP_BYTES`, but for the last.

    Every row group takes space in the file and in memory until the end, so they are large.
    """

    def __init__(self, path: Path, schema: Any) -> None:
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._file = pyarrow.parquet.ParquetWriter(path, schema, write_statistics=False)
        self._waiting: list[Any] = []
        self._bytes = 0

    def add(self, table: Any) -> None:
        """Append the rows of an Arrow table."""
        self._waiting.append(table)
        self._bytes += table.nbytes
        if self._bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._waiting:
            table = self._arrow.concat_tables(self._waiting)
            self._file.write_table(table, row_group_size=max(len(table), 1))
            self._waiting, self._bytes = [], 0
