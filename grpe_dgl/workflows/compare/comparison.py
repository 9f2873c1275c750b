"""Read run folders and compare them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.workflows.compare.curves import PICTURES, draw_comparison
from grpe_dgl.workflows.compare.runs import Excluded, Run, find_runs, read_run
from grpe_dgl.workflows.compare.tables import Table, make_tables
from grpe_dgl.workflows.compare.text import text_for, to_csv, to_dict, to_json, to_markdown

TABLES = (".md", ".csv", ".json")


@dataclass(frozen=True)
class Comparison:
    """Finished runs side by side; printed, it is Markdown."""

    tables: tuple[Table, ...]
    """One for each dataset, split and metric."""
    excluded: tuple[Excluded, ...]
    """Folders that could not be compared, with the reason."""

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Return the tables with their notes, and what was not compared, as Markdown."""
        return to_markdown(self.tables, self.excluded)

    def to_csv(self) -> str:
        """Return one row per model as CSV, without rounding."""
        return to_csv(self.tables)

    def to_json(self) -> str:
        """Return everything as JSON, without rounding; null for what is not a finite number."""
        return to_json(self.tables, self.excluded)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return to_dict(self.tables, self.excluded)

    def write(self, path: str | Path) -> None:
        """Write the file atomically: Markdown, CSV, JSON or the picture of the curves, by the ending of its name."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in (*TABLES, *PICTURES):
            raise InputError(f"{path}: accepted: a name that ends in {', '.join((*TABLES, *PICTURES))}")
        if suffix in PICTURES:
            draw_comparison(self.tables, path)
        else:
            write_text(path, text_for(path, self.tables, self.excluded))


def compare(*runs: str | Path | Iterable[str | Path]) -> Comparison:
    """Compare finished runs.

    Parameters
    ----------
    runs
        Folders of runs, of experiments with several seeds or variants, or folders that contain such. A folder that is
        given twice counts once.

    Returns
    -------
    Comparison
        Runs of one model with different seeds are a row. Runs on other data or splits, or selected by another metric,
        are in a table of their own.

    Raises
    ------
    InputError
        If no run can be compared; the message gives the reason for each folder.

    Examples
    --------
    >>> print(grpe_dgl.compare("runs/gcn", "runs/grpe"))  # doctest: +SKIP
    >>> grpe_dgl.compare("runs").write("table.md")  # doctest: +SKIP
    """
    paths: list[Path] = []
    for given in runs:
        paths += [Path(given)] if isinstance(given, (str, os.PathLike)) else [Path(each) for each in given]
    if not paths:
        raise InputError("no run to compare was given; accepted: folders of runs")
    found: list[Run] = []
    excluded: list[Excluded] = []
    seen: set[Path] = set()
    for path in paths:
        for entry in find_runs(path):
            folder = entry.folder if isinstance(entry, Excluded) else entry
            if folder.resolve() in seen:
                continue
            seen.add(folder.resolve())
            if isinstance(entry, Excluded):
                excluded.append(entry)
                continue
            try:
                found.append(read_run(entry))
            except InputError as error:
                excluded.append(Excluded(entry, f"it is broken: {error}"))
    tables, copies = make_tables(found)
    excluded += copies
    if not tables:
        reasons = "; ".join(f"{each.folder}: {each.reason}" for each in excluded)
        raise InputError(f"no finished run to compare ({reasons})")
    return Comparison(tuple(tables), tuple(excluded))
