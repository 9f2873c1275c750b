"""The report: one HTML file about one or more runs, which needs nothing from elsewhere."""

from collections.abc import Iterable
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.messages import counted
from grpe_dgl.workflows.compare.comparison import Comparison, compare
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.report.assembly import assemble
from grpe_dgl.workflows.report.comparison import comparison_section
from grpe_dgl.workflows.report.folds import is_cross_validation, render_folds
from grpe_dgl.workflows.report.markup import Markup, element
from grpe_dgl.workflows.report.model import model_section

MOST_BYTES = 5_000_000
"""Details of further models are left out, and the page says so, where it would become larger."""
ENDINGS = (".html", ".htm")


def report(
    runs: str | Path | Iterable[str | Path], out: str | Path | None = None, *, dataset: str | Path | None = None
) -> str:
    """Return the report on finished runs as HTML, and write it to a file if one is given.

    Parameters
    ----------
    runs
        Folders of runs, of experiments, or folders that contain such, as for `grpe_dgl.compare`. The folder of one
        cross-validation gives a page about all of its folds together.
    out
        The file, whose name ends in ``.html``; it appears whole or not at all.
    dataset
        The folder of the processed dataset, from which sizes and molecules are read; None: the one that each run was
        trained on, if it is still there.

    Raises
    ------
    InputError
        If there is no finished run, or the file's name has another ending.

    Examples
    --------
    >>> grpe_dgl.report("runs/zinc", "report.html")  # doctest: +SKIP
    """
    if out is not None and Path(out).suffix.lower() not in ENDINGS:
        raise InputError(f"{out}: accepted: a name that ends in {', '.join(ENDINGS)}")
    folders = [runs] if isinstance(runs, (str, Path)) else list(runs)
    data = None if dataset is None else Path(dataset)
    if len(folders) == 1 and is_cross_validation(Path(folders[0])):
        page = render_folds(Path(folders[0]), data)
    else:
        page = render(compare(*folders), data)
    if out is not None:
        write_text(Path(out), page)
    return page


def render(comparison: Comparison, dataset: Path | None = None) -> str:
    """Return the page for compared runs."""
    rows = [row for table in comparison.tables for row in table.rows]
    several = len(rows) > 1 or len(rows[0].runs) > 1 or bool(comparison.excluded)
    sections: list[Markup] = [comparison_section(comparison)] if several else []
    shown: list[tuple[int, Row]] = []
    size = sum(map(len, sections))
    for number, row in enumerate(rows, 1):
        section = model_section(row, number, dataset)
        if shown and size + len(section) > MOST_BYTES:
            break
        size += len(section)
        shown.append((number, row))
        sections.append(section)
    if len(shown) < len(rows):
        left = ", ".join(row.name for row in rows[len(shown) :])
        sections.append(element("p", f"The page would become too large: no details of {left}.", class_="note"))
    title = _title(comparison, rows)
    head = [element("h1", title), element("p", _subtitle(comparison, rows), class_="lead")]
    if len(sections) > 1:
        links = [element("a", "Comparison", href="#comparison")] if several else []
        links += [element("a", row.name, href=f"#run-{number}") for number, row in shown]
        head.append(element("nav", *links))
    return assemble(title, [*head, *sections])


def _title(comparison: Comparison, rows: list[Row]) -> str:
    datasets = ", ".join(dict.fromkeys(table.dataset for table in comparison.tables))
    return f"{rows[0].name} on {datasets}" if len(rows) == 1 else f"{counted(len(rows), 'model')} on {datasets}"


def _subtitle(comparison: Comparison, rows: list[Row]) -> str:
    runs = sum(len(row.runs) for row in rows)
    excluded = f"; {counted(len(comparison.excluded), 'folder')} not compared" if comparison.excluded else ""
    return f"{counted(runs, 'finished run')}{excluded}"
