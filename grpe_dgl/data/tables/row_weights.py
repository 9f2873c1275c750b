"""The column of a table that has the weights of its rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.messages import short


class RowWeights:
    """Checks and reads the weights of rows: numbers of 0 or more, none missing, not all 0.

    Parameters
    ----------
    table
        The table of the rows.
    column
        The name of the column.
    numbers
        How numbers are written.
    """

    def __init__(self, table: Table, column: str, numbers: NumberFormat) -> None:
        self._table, self._column, self._format = table, column, numbers
        self._place = table.place(column)
        self._count, self._sum, self._least, self._most = 0, 0.0, float("inf"), 0.0

    def add(self, row: int, line: int, cells: Sequence[str]) -> None:
        """Check one row."""
        value = self._format.parse(cells[self._place])
        if value is None or not value >= 0:
            raise InputError(
                f"{self._table.at(row, line)}, column {self._column!r}: {short(cells[self._place])}; accepted for a "
                "weight: a number, 0 or more"
            )
        self._count += 1
        self._sum += value
        self._least, self._most = min(self._least, value), max(self._most, value)

    def note(self) -> str:
        """Return a sentence on the weights, once all rows were added; raises if all of them are 0."""
        if self._sum == 0:
            raise InputError(
                f"{self._table.file}: every weight of column {self._column!r} is 0; accepted: some above 0"
            )
        mean = self._sum / self._count
        return (
            f"column {self._column!r}: weights from {self._least:g} to {self._most:g}, mean {mean:.4g}; they count in "
            "the training loss, not in metrics"
        )

    def read(self, rows: Sequence[Row]) -> npt.NDArray[np.float32]:
        """Return the weights of rows that were added, (R,) float32."""
        return np.array([self._format.parse(cells[self._place]) for _, cells in rows], np.float32)
