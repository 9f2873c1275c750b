"""The target columns of a table: the task they define, and the label of every row."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.tables.table import Row, Table
from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Task

TASKS = ("regression", "classification")
_MAX_CLASSES = 1000
_Cell = tuple[int, int, str]  # row, line, text


_NO_VALUE = ("na", "n/a", "null", "none")  # as spreadsheets, R, databases and Python write a missing number


def is_blank(cell: str) -> bool:
    """Return whether a cell means a missing label in every task: it is blank or nan."""
    return not cell or cell.isspace() or cell.strip().lower() == "nan"


def is_missing(cell: str) -> bool:
    """Return whether a cell of a numeric column means a missing label; among named classes, None may be a class."""
    return is_blank(cell) or cell.strip().lower() in _NO_VALUE


class TargetScan:
    """Scans the cells of the target columns and determines the task once all rows were added.

    Parameters
    ----------
    table
        The table of the rows.
    targets
        The names of the target columns.
    task
        ``regression``, ``classification`` or None to infer it: classification if every cell is 0, 1 or blank.
    """

    def __init__(self, table: Table, targets: Sequence[str], task: str | None) -> None:
        if not targets:
            raise InputError("no target; accepted: at least one column")
        if len(set(targets)) < len(targets):
            raise InputError(f"targets are {', '.join(targets)}; accepted: each column once")
        if task is not None and task not in TASKS:
            raise InputError(f"task is {task!r}; accepted: {', '.join(TASKS)}")
        self._table = table
        self._asked = task
        self.targets = tuple(targets)
        self._places = [table.place(target) for target in targets]
        self._not_binary: list[_Cell | None] = [None] * len(targets)
        self._not_number: list[_Cell | None] = [None] * len(targets)
        self._labels = np.zeros(len(targets), np.int64)
        self._classes: set[str] = set()
        self._class_cells = 0

    def add(self, row: int, line: int, cells: Sequence[str]) -> None:
        """Add one row."""
        for i, place in enumerate(self._places):
            cell = cells[place]
            if cell in ("0", "1"):
                self._labels[i] += 1
            elif not is_missing(cell):
                self._labels[i] += 1
                number = _number(cell)
                if number not in (0.0, 1.0) and self._not_binary[i] is None:
                    self._not_binary[i] = (row, line, cell)
                if number is None and self._not_number[i] is None:
                    self._not_number[i] = (row, line, cell)
            if is_blank(cell):
                continue
            if self._asked == "classification" and len(self.targets) == 1 and len(self._classes) <= _MAX_CLASSES:
                self._classes.add(cell.strip())
                self._class_cells += 1

    def task(self) -> Task:
        """Return the task, once all rows were added."""
        for target, labels in zip(self.targets, self._labels, strict=True):
            if labels == 0:
                raise InputError(f"{self._table.file}: column {target!r} has no label in any row")
        binary = all(cell is None for cell in self._not_binary)
        if binary and self._asked != "regression":
            return Task(level="graph", kind="binary", targets=self.targets, metric=METRICS_OF_KIND["binary"][0])
        if self._asked == "classification":
            return self._multiclass()
        for target, wrong in zip(self.targets, self._not_number, strict=True):
            if wrong is not None:
                hint = "" if self._asked or len(self.targets) > 1 else " (or choose the task classification)"
                self._refuse(target, wrong, f"a number, or blank for a missing label{hint}")
        return Task(level="graph", kind="regression", targets=self.targets, metric="rmse", standardise=True)

    def _multiclass(self) -> Task:
        if len(self.targets) > 1:
            for target, wrong in zip(self.targets, self._not_binary, strict=True):
                if wrong is not None:
                    self._refuse(target, wrong, "0, 1 or blank where several targets are classified")
        if not 2 <= len(self._classes) <= _MAX_CLASSES:
            count = "one class" if len(self._classes) == 1 else f"more than {_MAX_CLASSES:,} classes"
            numbers = "" if self._not_number[0] else ", or the task regression, as all are numbers"
            raise InputError(
                f"{self._table.file}: column {self.targets[0]!r} has {count}; accepted: 2 to {_MAX_CLASSES:,} "
                f"classes{numbers}"
            )
        numeric = all(_number(name) is not None for name in self._classes)
        classes = sorted(self._classes, key=lambda name: (_number(name) if numeric else 0.0, name))
        metric = METRICS_OF_KIND["multiclass"][0]
        return Task(level="graph", kind="multiclass", targets=self.targets, classes=tuple(classes), metric=metric)

    def notes(self, task: Task) -> list[str]:
        """Return notes for the user about the task that `task` returned."""
        if self._asked is None:
            binary = "classification (every label is 0 or 1)"
            return [f"task inferred from the targets: {binary if task.kind == 'binary' else task.kind}"]
        if self._asked == "regression" or len(self.targets) > 1:
            return []
        classes, rows = task.classes or ("0", "1"), self._class_cells
        named = ", ".join(classes[:5]) + (", ..." if len(classes) > 5 else "")
        notes = [f"{len(classes):,} classes: {named}"]
        if task.kind == "multiclass" and 2 * len(classes) > rows:
            looks = "is it the right column?" if self._not_number[0] else "it looks like a regression"
            notes.append(f"column {self.targets[0]!r} has {len(classes):,} classes in {rows:,} rows: {looks}")
        return notes

    def _refuse(self, target: str, cell: _Cell, accepted: str) -> None:
        row, line, text = cell
        raise InputError(f"{self._table.at(row, line)}, column {target!r}: {text!r}; accepted: {accepted}")


def read_labels(rows: Sequence[Row], places: Sequence[int], task: Task) -> npt.NDArray[np.generic]:
    """Return the labels of rows that a `TargetScan` accepted: (R,) int64 for multiclass, else (R, T) float32."""
    if task.kind == "multiclass":
        code = {name: i for i, name in enumerate(task.classes)}
        cells = [row[places[0]] for _, row in rows]
        return np.array([-1 if is_blank(cell) else code[cell.strip()] for cell in cells], np.int64)
    label = [[math.nan if is_missing(row[place]) else float(row[place]) for place in places] for _, row in rows]
    return np.array(label, np.float32).reshape(len(rows), len(places))


def _number(cell: str) -> float | None:
    """Return the number in a cell; None if it is not a number, or not finite in float32, the type of labels."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if abs(number) <= float(np.finfo(np.float32).max) else None
