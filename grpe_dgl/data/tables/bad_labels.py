"""The cells of target columns that are not numbers: what each of them is, the list of all, and what can be done."""

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grpe_dgl.data.tables.missing import is_missing
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.messages import counted, short

SHOWN = 10
HEADER = ("row", "line", "column", "cell", "problem")
_SIGNS = re.compile(r"^\s*(<=|>=|=<|=>|<|>|≤|≥|~|≈|ca\.?|approx\.?)\s*[-+\d.,]", re.IGNORECASE)
_SPREAD = re.compile(r"^\s*[-+]?[\d.,]+\s*(±|\+/-|\+-)")
_RANGE = re.compile(r"^\s*[-+]?[\d.,]+\s*(-|–|to|\.\.)\s*[-+]?[\d.,]+\s*$", re.IGNORECASE)
_UNIT = re.compile(r"^\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s*([^\d\s.,+-].*?)\s*$")


Check = Callable[[int, str], tuple[str, str] | None]
"""Takes the number of a target and a cell that is not missing; returns None if it is a label, else the kind of what is
wrong with it and a description, as `problem_of` does."""


@dataclass
class BadLabels:
    """The cells of a table's targets that are no labels.

    Parameters
    ----------
    total
        How many there are.
    first
        The first `SHOWN` of them, as text.
    kinds
        How many there are of each kind; the kinds are those of `problem_of`.
    """

    total: int = 0
    first: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def problem_of(cell: str, numbers: NumberFormat) -> tuple[str, str]:
    """Return the kind of a cell that is not a number, and a description of it."""
    other = "," if numbers.decimal == "." else "."
    name = "comma" if other == "," else "point"
    if NumberFormat(other).parse(cell) is not None:
        grouped = NumberFormat(numbers.decimal, other).parse(cell)
        if grouped is not None:
            return "decimal_or_thousands", f"has a {name} that may be a decimal {name} or separate thousands"
        return f"decimal_{name}", f"has a decimal {name}"
    if _is_float(cell):
        return "not_finite", "is not finite, or too large for a number of 32 bits"
    if _SIGNS.match(cell):
        return "bound", "is a bound or an approximate value, not a measured one"
    if _SPREAD.match(cell):
        return "spread", "is a number with its uncertainty"
    if _RANGE.match(cell):
        return "range", "is a range"
    if cell.strip().startswith("#"):
        return "spreadsheet_error", "is an error of a spreadsheet"
    if unit := _UNIT.match(cell):
        return "unit", f"has the unit {unit[1]!r} beside the number"
    return "text", "is a text"


def number_check(numbers: NumberFormat) -> Check:
    """Return the check of a regression: a label is a number."""
    return lambda _, cell: None if numbers.parse(cell) is not None else problem_of(cell, numbers)


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def find_bad_labels(table: Table, targets: Sequence[str], check: Check, listing: Path | None) -> tuple[BadLabels, str]:
    """Read a table once more for its bad labels; return them, and a sentence on where all of them are listed.

    Parameters
    ----------
    table, targets
        What is read.
    check
        Which cells are no labels.
    listing
        The CSV file to write all of them to, with the columns `HEADER`; None for none.
    """
    bad, where = BadLabels(), ""
    with contextlib.ExitStack() as stack:
        writer = None
        if listing is not None:
            try:
                listing.parent.mkdir(parents=True, exist_ok=True)
                stream = stack.enter_context(
                    stack.enter_context(atomic_file(listing)).open("w", encoding="utf-8", newline="")
                )
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(HEADER)
                where = f"all are listed in {listing}"
            except OSError as error:  # the labels are what matters; the list is a help
                where = f"their list cannot be written to {listing}: {error.strerror}"
        for row, line, target, cell, (kind, problem) in _cells(table, targets, check):
            bad.total += 1
            bad.kinds[kind] += 1
            if len(bad.first) < SHOWN:
                bad.first.append(f"{table.where(row, line)}, column {target!r}: {short(cell)} {problem}")
            if writer is not None:
                writer.writerow((row, line, target, cell, problem))
    return bad, where


def refuse_bad_labels(
    table: Table,
    targets: Sequence[str],
    check: Check,
    listing: Path | None,
    accepted: str,
    *,
    classes: bool = False,
) -> InputError:
    """Return the error for the bad labels of a table: the first of them, and what can be done.

    `classes`: whether the column may be one of classes, as it has few different labels and no number.
    """
    bad, where = find_bad_labels(table, targets, check, listing)
    kinds, unclear, texts = set(bad.kinds), {"decimal_or_thousands"}, {"text"}
    if bad.total == 1:
        end = f"; {where.replace('all are', 'also')}" if where else ""
        message = f"{table.file}, {bad.first[0]}; accepted: {accepted}{end}"
    else:
        more = f"and {bad.total - len(bad.first):,} more" if bad.total > len(bad.first) else ""
        end = "; ".join(part for part in (more, where) if part)
        listed = "".join(f"\n  {line}" for line in (*bad.first, end) if line)
        message = f"{table.file}: {counted(bad.total, 'label')} cannot be used:{listed}\naccepted: {accepted}"
    return InputError(
        message,
        hint="decimal_or_thousands"
        if kinds == unclear
        else "decimal_comma"
        if kinds - unclear == {"decimal_comma"}
        else "decimal_point"
        if kinds - unclear == {"decimal_point"}
        else "labels_classes"
        if classes and kinds == texts
        else "labels_missing",
    )


def _cells(table: Table, targets: Sequence[str], check: Check) -> Iterator[tuple[int, int, str, str, tuple[str, str]]]:
    """Yield row, line, column, text and problem of every cell that is neither a label nor missing."""
    places = [table.place(target) for target in targets]
    for row, (line, cells) in enumerate(table.rows()):
        for t, place in enumerate(places):
            cell = cells[place]
            if not is_missing(cell) and (problem := check(t, cell)) is not None:
                yield row, line, targets[t], cell, problem
