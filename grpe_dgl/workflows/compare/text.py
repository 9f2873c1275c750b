"""A comparison as Markdown, CSV and JSON."""

import csv
import dataclasses
import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.messages import counted
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Excluded
from grpe_dgl.workflows.compare.tables import Table

SHOWN_SPLITS = ("valid", "test")
SEPARATE = (
    "{count} tables: runs that were trained on other data or splits, or selected by another metric, are not compared."
)


def to_markdown(tables: Sequence[Table], excluded: Sequence[Excluded]) -> str:
    """Return every table with its title and notes, and a list of what was not compared."""
    parts = [SEPARATE.format(count=len(tables))] if len(tables) > 1 else []
    for table in tables:
        parts += [f"**{plain(title(table))}**", _markdown_table(table)]
    if excluded:
        lines = [f"- {plain(str(each.folder))}: {plain(each.reason)}" for each in excluded]
        parts.append("\n".join(["Not compared:", "", *lines]))
    return "\n\n".join(parts) + "\n"


def title(table: Table) -> str:
    """Return the dataset and the metric: ``zinc, test mae (lower is better)``."""
    direction = "higher" if table.metric.higher_is_better else "lower"
    return f"{table.dataset}, {table.split} {table.metric.name} ({direction} is better)"


def cells_of(table: Table) -> tuple[list[str], list[list[str]], list[str]]:
    """Return a table as texts: its header, a list of cells per row, and the lines below it."""
    splits = [split for split in SHOWN_SPLITS if any(split in row.splits for row in table.rows)]
    splits = splits if table.split in splits else [*splits, table.split]
    papers = [row.paper for row in table.rows]
    header = ["model", "family", "seeds", "parameters", "epochs", *(f"{split} {table.metric.name}" for split in splits)]
    header += ["paper", "paper's setting"] if any(papers) else []
    header += ["s/epoch", "peak memory", *(["p"] if table.has_tests else [])]
    rows: list[list[str]] = []
    marks: list[str] = []
    for row in table.rows:
        cells = [row.name, row.family or "", str(len(row.runs)), _count(row.parameters), _range(row.epochs)]
        for split in splits:
            spread = row.splits.get(split)
            cells.append("" if spread is None else table.metric.text(spread.mean, spread.deviation))
        if any(papers):
            cells += [paper_text(row), _setting(row, marks)]
        seconds, memory = row.seconds_per_epoch, row.peak_memory_bytes
        cells += ["" if seconds is None else _seconds(seconds), "" if memory is None else f"{memory / 1e6:,.0f} MB"]
        if table.has_tests:
            cells.append("best" if row is table.rows[0] else _p(row))
        rows.append(cells)
    notes = [f"[{number}] not the setting of the paper's number: {mark}" for number, mark in enumerate(marks, 1)]
    if table.has_tests:
        tests = [row for row in table.rows if row.test is not None and row.test.p is not None]
        measured = f"{table.split} {table.metric.name}"
        notes.append(
            f"p: two-sided paired t-test of {measured} against {table.rows[0].name} over matching "
            f"seeds ({_range([row.test.seeds for row in tests if row.test])}), not corrected for "
            f"{counted(len(tests), 'comparison')}"
        )
    return header, rows, [*notes, *table.notes]


def paper_text(row: Row) -> str:
    """Return the number of the paper with its metric, and the parameters that the paper prints."""
    if row.paper is None:
        return ""
    parameters = getattr(row.paper, "parameters", None)
    return row.paper.text() + (f", {parameters} parameters" if parameters else "")


def plain(text: str) -> str:
    r"""Return a text so that Markdown shows its characters: no table cell ends in it, no tag or emphasis begins.

    >>> print(plain("a|b <script>"))
    a\|b \<script>
    """
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    return re.sub(r"([\\|`*]|<(?=[A-Za-z/!?])|\[(?!\d+\])|~(?=~))", r"\\\1", text)


def _markdown_table(table: Table) -> str:
    header, rows, notes = cells_of(table)
    lines = [header, ["---"] * len(header), *([plain(cell) for cell in row] for row in rows)]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return "\n\n".join([text, *(plain(note) for note in notes)])


def to_csv(tables: Sequence[Table]) -> str:
    """Return one row per model, the tables told apart by the first columns; numbers are not rounded."""
    splits = list(dict.fromkeys(split for table in tables for row in table.rows for split in row.splits))
    records = []
    for number, table in enumerate(tables, 1):
        for row in table.rows:
            records.append(
                {
                    "table": number,
                    "dataset": table.dataset,
                    "metric": table.metric.name,
                    "split": table.split,
                    "model": row.name,
                    "family": row.family,
                    "seeds": len(row.runs),
                    "parameters": row.parameters,
                    "epochs": _range(row.epochs),
                    **{
                        f"{split}_{part}": getattr(row.splits[split], part) if split in row.splits else None
                        for split in splits
                        for part in ("mean", "deviation")
                    },
                    "paper": paper_text(row),
                    "paper_setting": {True: "yes", False: "no", None: ""}[row.is_papers_setting],
                    "differs": "; ".join(row.differs),
                    "seconds_per_epoch": row.seconds_per_epoch,
                    "peak_memory_bytes": row.peak_memory_bytes,
                    "p": None if row.test is None else row.test.p,
                    "matching_seeds": None if row.test is None else row.test.seeds,
                    "folders": "; ".join(str(run.folder) for run in row.runs),
                }
            )
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def to_dict(tables: Sequence[Table], excluded: Sequence[Excluded]) -> dict[str, Any]:
    """Return everything as plain values; numbers that are not finite are None."""
    return {
        "tables": [
            {
                "dataset": table.dataset,
                "metric": table.metric.name,
                "higher_is_better": table.metric.higher_is_better,
                "split": table.split,
                "data": table.data,
                "rows": [_row(row) for row in table.rows],
                "notes": list(table.notes),
            }
            for table in tables
        ],
        "not_compared": [{"folder": str(each.folder), "reason": each.reason} for each in excluded],
    }


def to_json(tables: Sequence[Table], excluded: Sequence[Excluded]) -> str:
    """Return `to_dict` as JSON."""
    return json.dumps(to_dict(tables, excluded), indent=2, allow_nan=False) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "model": row.name,
        "family": row.family,
        "seeds": [run.seed for run in row.runs],
        "parameters": row.parameters,
        "epochs": list(row.epochs),
        "splits": {
            split: {
                "mean": _finite(spread.mean),
                "deviation": _finite(spread.deviation),
                "values": [_finite(value) for value in spread.by_seed.values()],
            }
            for split, spread in row.splits.items()
        },
        "paper": None if row.paper is None else dataclasses.asdict(row.paper),
        "is_papers_setting": row.is_papers_setting,
        "differs": row.differs,
        "seconds_per_epoch": _finite(row.seconds_per_epoch),
        "peak_memory_bytes": row.peak_memory_bytes,
        "machines": list(row.machines),
        "paired_test": None if row.test is None else dataclasses.asdict(row.test),
        "folders": [str(run.folder) for run in row.runs],
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _range(numbers: Sequence[int]) -> str:
    """Return ``15``, or the smallest and the largest where they differ: ``12-15``."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}-{high}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}"


def _setting(row: Row, marks: list[str]) -> str:
    """Return whether the setting is the paper's, with the number of the line below that says what differs."""
    if row.paper is None:
        return ""
    if not row.differs:
        return "yes" if row.is_papers_setting else "unknown"
    text = "; ".join(row.differs)
    if text not in marks:
        marks.append(text)
    return f"{'no' if row.is_papers_setting is False else 'unknown'} [{marks.index(text) + 1}]"


def _p(row: Row) -> str:
    if row.test is None or row.test.p is None:
        return ""
    return "< 0.0001" if row.test.p < 1e-4 else f"{row.test.p:.2g}"


def text_for(path: Path, tables: Sequence[Table], excluded: Sequence[Excluded]) -> str:
    """Return the text for a file by its ending: ``.md``, ``.csv`` or ``.json``."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return to_csv(tables)
    return to_json(tables, excluded) if suffix == ".json" else to_markdown(tables, excluded)
