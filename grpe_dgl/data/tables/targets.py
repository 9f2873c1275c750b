"""The target columns of a table: the task they define, and the label of every row."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.tables.bad_labels import find_bad_labels, number_check, problem_of, refuse_bad_labels
from grpe_dgl.data.tables.classes import PLAIN, choose_positive
from grpe_dgl.data.tables.missing import is_missing
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.messages import Note, counted
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Task

TASKS = ("regression", "classification")
BAD_LABELS = ("refuse", "missing")
_MAX_CLASSES = 1000
_NAMED = 10  # classes that are named in an error
_FEW = 5  # values of a column of whole numbers that may be classes
_Cell = tuple[int, int, str]  # row, line, text


class TargetScan:
    """Scans the cells of the target columns and determines the task once all rows were added.

    Parameters
    ----------
    table
        The table of the rows.
    targets
        The names of the target columns.
    task
        ``regression``, ``classification`` or None to infer it: classification if every cell is 0, 1 or blank, or if
        every target has two classes, at least one of which is a text.
    positive
        Which classes are the positive ones of targets with two classes; see `grpe_dgl.data.tables.classes`.
    numbers
        How numbers are written.
    bad_labels
        Of a regression, what to do with cells that are not numbers: ``refuse`` the table, or take them for ``missing``
        labels.
    listing
        The CSV file that lists all such cells, if there are any; None for none.
    """

    def __init__(
        self,
        table: Table,
        targets: Sequence[str],
        task: str | None,
        positive: Sequence[str] = (),
        *,
        numbers: NumberFormat | None = None,
        bad_labels: str = "refuse",
        listing: Path | None = None,
    ) -> None:
        if not targets:
            raise InputError("no target; accepted: at least one column")
        if len(set(targets)) < len(targets):
            raise InputError(f"targets are {', '.join(targets)}; accepted: each column once")
        if task is not None and task not in TASKS:
            raise InputError(f"task is {task!r}; accepted: {', '.join(TASKS)}")
        if positive and task == "regression":
            raise InputError("a positive class was chosen for the task regression; accepted: for classification")
        if bad_labels not in BAD_LABELS:
            raise InputError(f"bad_labels is {bad_labels!r}; accepted: {', '.join(BAD_LABELS)}")
        self._table = table
        self._asked = task
        self._format = numbers or NumberFormat()
        self._bad_labels, self._listing = bad_labels, listing
        self._positive = tuple(positive)
        self.targets = tuple(targets)
        self._places = [table.place(target) for target in targets]
        self._not_binary: list[_Cell | None] = [None] * len(targets)
        self._not_number: list[_Cell | None] = [None] * len(targets)
        self._labels = np.zeros(len(targets), np.int64)
        self._numbers = np.zeros(len(targets), np.int64)
        self._words = 0
        self._classes: list[dict[str, int]] = [{} for _ in targets]  # how often each occurs; no more than _MAX_CLASSES

    def add(self, row: int, line: int, cells: Sequence[str]) -> None:
        """Add one row."""
        for i, place in enumerate(self._places):
            cell = cells[place]
            if is_missing(cell):
                self._words += bool(cell.strip())
                continue
            self._labels[i] += 1
            classes, name = self._classes[i], cell.strip()
            if name in classes or len(classes) <= _MAX_CLASSES:
                classes[name] = classes.get(name, 0) + 1
            if cell in PLAIN:
                self._numbers[i] += 1
                continue
            number = self._format.parse(cell)
            self._numbers[i] += number is not None
            if number not in (0.0, 1.0) and self._not_binary[i] is None:
                self._not_binary[i] = (row, line, cell)
            if number is None and self._not_number[i] is None:
                self._not_number[i] = (row, line, cell)

    def task(self) -> Task:
        """Return the task, once all rows were added."""
        for target, labels in zip(self.targets, self._labels, strict=True):
            if labels == 0:
                raise InputError(f"{self._table.file}: column {target!r} has no label in any row")
        for name in self._positive:
            if not any(name in classes for classes in self._classes):
                found = ", ".join(sorted(self._classes[0])[:5])
                raise InputError(
                    f"{self._table.file}: {name!r} was chosen as positive class, and no target has it; column "
                    f"{self.targets[0]!r} has {found}{', ...' if len(self._classes[0]) > 5 else ''}"
                )
        plain = all(cell is None for cell in self._not_binary) and not self._positive
        if plain and self._asked != "regression":
            return Task(level="graph", kind="binary", targets=self.targets, metric=METRICS_OF_KIND["binary"][0])
        if self._asked == "classification" or self._positive or (self._asked is None and self._two_named()):
            return self._classification()
        self._check_numbers()
        return Task(level="graph", kind="regression", targets=self.targets, metric="rmse", standardise=True)

    def _check_numbers(self) -> None:
        """Raise for cells that are not numbers, unless they are taken for missing labels and others are left."""
        wrong = [target for target, cell in zip(self.targets, self._not_number, strict=True) if cell is not None]
        if not wrong:
            return
        if self._bad_labels == "missing":
            for target, numbers in zip(self.targets, self._numbers, strict=True):
                if numbers == 0:
                    raise InputError(f"{self._table.file}: column {target!r} has no number in any row")
            return
        may_be_classes = self._asked is None and len(self.targets) == 1
        names = list(self._classes[0])
        only_texts = may_be_classes and self._numbers[0] == 0 and 2 <= len(names) <= _NAMED
        hint = " (or choose the task classification)" if may_be_classes else ""
        if only_texts:
            hint = f" (or choose the task classification, with the classes {', '.join(sorted(names))}"
            hint += f"; {alike})" if (alike := _alike(names)) else ")"
        accepted = f"{self._format.described()}, or blank for a missing label{hint}"
        check = number_check(self._format)
        raise refuse_bad_labels(self._table, wrong, check, self._listing, accepted, classes=only_texts)

    def _two_named(self) -> bool:
        """Whether every target has two classes, or only 0 and 1, and none has numbers, units or bounds beside texts."""
        return all(
            wrong is None
            or (
                len(classes) == 2
                and numbers == 0
                and all(problem_of(name, self._format)[0] == "text" for name in classes)
            )
            for wrong, classes, numbers in zip(self._not_binary, self._classes, self._numbers, strict=True)
        )

    def _classification(self) -> Task:
        names = []
        for i, target in enumerate(self.targets):
            classes = self._classes[i]
            if self._not_binary[i] is None and not self._positive:
                names.append(PLAIN)
            elif len(classes) == 2:
                names.append(choose_positive(classes, self._positive, where=f"{self._table.file}, column {target!r}"))
            elif len(self.targets) == 1:
                return self._multiclass()
            else:
                wrong = self._not_binary[i] or self._not_number[i]
                accepted = f"two classes where several targets are classified ({self._how_many(i)} here)"
                if wrong is None:
                    raise InputError(f"{self._table.file}: column {target!r}: accepted: {accepted}")
                self._refuse(target, wrong, accepted)
        return Task(
            level="graph",
            kind="binary",
            targets=self.targets,
            positive=tuple(positive for _, positive in names),
            negative=tuple(negative for negative, _ in names),
            metric=METRICS_OF_KIND["binary"][0],
        )

    def _multiclass(self) -> Task:
        found = self._classes[0]
        if self._positive:
            raise InputError(
                f"{self._table.file}: column {self.targets[0]!r} has {self._how_many(0)}; accepted: a positive class "
                "only of two"
            )
        if not 2 <= len(found) <= _MAX_CLASSES:
            numbers = "" if self._not_number[0] else ", or the task regression, as all are numbers"
            raise InputError(
                f"{self._table.file}: column {self.targets[0]!r} has {self._how_many(0)}; accepted: 2 to "
                f"{_MAX_CLASSES:,} classes{numbers}"
            )
        numeric = all(self._format.parse(name) is not None for name in found)
        classes = sorted(found, key=lambda name: (self._format.parse(name) if numeric else 0.0, name))
        metric = METRICS_OF_KIND["multiclass"][0]
        return Task(level="graph", kind="multiclass", targets=self.targets, classes=tuple(classes), metric=metric)

    def _how_many(self, i: int) -> str:
        count = len(self._classes[i])
        return (
            "one class"
            if count == 1
            else f"{count} classes"
            if count <= _MAX_CLASSES
            else f"more than {count - 1:,} classes"
        )

    def notes(self, task: Task) -> list[str]:
        """Return what a user should be told of the task that `task` returned."""
        notes: list[str] = []
        if self._asked is None and not self._positive:
            said = "classification (every label is 0 or 1)" if task.kind == "binary" else task.kind
            if task.positive:
                said = "classification (every target has two classes)"
            notes.append(f"task inferred from the targets: {said}")
            if task.kind == "regression":
                notes += self._few_values()
        for i, (positive, negative) in enumerate(zip(task.positive, task.negative, strict=True)):
            if (negative, positive) != PLAIN:
                count, labels = self._classes[i].get(positive, 0), self._labels[i]
                notes.append(
                    Note(
                        f"column {task.targets[i]!r}: the positive class is {positive} ({count:,} of {labels:,}), the "
                        f"negative is {negative}",
                        hint=None if self._positive else "other_positive",
                    )
                )
        if task.kind == "multiclass":
            classes, rows = task.classes, int(self._labels[0])
            named = ", ".join(classes[:5]) + (", ..." if len(classes) > 5 else "")
            notes.append(f"{len(classes):,} classes: {named}")
            if alike := _alike(classes):
                notes.append(f"column {self.targets[0]!r}: {alike}")
            if 2 * len(classes) > rows:
                looks = "is it the right column?" if self._not_number[0] else "it looks like a regression"
                notes.append(f"column {self.targets[0]!r} has {len(classes):,} classes in {rows:,} rows: {looks}")
        if task.kind == "regression" and any(self._not_number):
            bad, where = find_bad_labels(self._table, self.targets, number_check(self._format), self._listing)
            notes.append(
                f"{counted(bad.total, 'label')} that cannot be used {'is a' if bad.total == 1 else 'are'} missing "
                f"{'label' if bad.total == 1 else 'labels'}, such as {bad.first[0]}{'; ' if where else ''}{where}"
            )
        if self._words and task.kind != "regression" and any(self._not_number):
            notes.append(f"{self._words:,} cells with a word for no value (NA, null, None, ...) are missing labels")
        return notes

    def _few_values(self) -> list[str]:
        """Return a note for each target of whole numbers that has few values: they may be classes."""
        notes: list[str] = []
        for target, classes, labels in zip(self.targets, self._classes, self._labels, strict=True):
            values = sorted({value for name in classes if (value := self._format.parse(name)) is not None})
            if len(values) <= _FEW and all(value.is_integer() for value in values) and labels >= 2 * len(values):
                shown = ", ".join(f"{value:g}" for value in values)
                notes.append(
                    Note(f"column {target!r} has no other values than {shown}; they may be classes", hint="as_classes")
                )
        return notes

    def _refuse(self, target: str, cell: _Cell, accepted: str) -> None:
        row, line, text = cell
        raise InputError(f"{self._table.at(row, line)}, column {target!r}: {text!r}; accepted: {accepted}")


def _alike(names: Sequence[str]) -> str:
    """Return a clause on names that differ in small and capital letters alone; empty if there are none."""
    spellings: dict[str, list[str]] = {}
    for name in sorted(names):
        spellings.setdefault(name.casefold(), []).append(name)
    pairs = [" and ".join(same) for same in spellings.values() if len(same) > 1]
    return f"{', '.join(pairs)} differ in capital letters alone: write them alike" if pairs else ""


def read_labels(
    rows: Sequence[Row], places: Sequence[int], task: Task, numbers: NumberFormat | None = None
) -> npt.NDArray[np.generic]:
    """Return the labels of rows that a `TargetScan` accepted: (R,) int64 for multiclass, else (R, T) float32."""
    numbers = numbers or NumberFormat()
    if task.kind == "multiclass":
        code = {name: i for i, name in enumerate(task.classes)}
        cells = [row[places[0]] for _, row in rows]
        return np.array([-1 if is_missing(cell) else code[cell.strip()] for cell in cells], np.int64)
    names = list(zip(task.negative, task.positive, strict=True)) or [PLAIN] * len(places)
    codes = [None if pair == PLAIN else {pair[0]: 0.0, pair[1]: 1.0} for pair in names]
    label = np.full((len(rows), len(places)), math.nan, np.float32)
    for r, (_, row) in enumerate(rows):
        for t, (place, named) in enumerate(zip(places, codes, strict=True)):
            if not is_missing(row[place]):
                value = numbers.parse(row[place]) if named is None else named[row[place].strip()]
                label[r, t] = math.nan if value is None else value
    return label
