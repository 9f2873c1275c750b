"""The curves of compared runs in one picture: validation metric by epoch, one panel for each table."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Run
from grpe_dgl.workflows.compare.tables import Table

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow that is lost on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
STYLES = ("-", "--", ":", "-.")
PICTURES = (".png", ".svg", ".pdf")


def read_curve(run: Run, column: str | None = None) -> dict[int, float]:
    """Return a column of ``metrics.csv`` by epoch, the validation metric if None; empty if the file cannot be read."""
    column = column or f"valid_{run.metric}"
    points = {}
    try:
        with RunFolder(run.folder).metrics.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row.get(column) and row.get("epoch"):
                    value = float(row[column])
                    if math.isfinite(value):
                        points[int(row["epoch"])] = value
    except (OSError, ValueError, csv.Error):
        return {}
    return points


def curve_of(row: Row) -> tuple[list[int], list[float], list[float], list[float]]:
    """Return epochs, mean, smallest and largest validation metric over the seeds, for epochs that every seed has."""
    curves: list[Mapping[int, float]] = [points for run in row.runs if (points := read_curve(run))]
    if not curves:
        return [], [], [], []
    epochs = sorted(set.intersection(*(set(points) for points in curves)))
    columns = [[points[epoch] for points in curves] for epoch in epochs]
    return epochs, [sum(column) / len(column) for column in columns], [*map(min, columns)], [*map(max, columns)]


def draw_comparison(tables: Sequence[Table], path: Path) -> None:
    """Draw the curves of every table over each other; a band spans the seeds of a model."""
    # Here for start-up time.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 4.4 * len(tables)), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, table in zip(figure.subplots(len(tables), 1, squeeze=False)[:, 0], tables, strict=True):
        scale = 100 if table.metric.percent else 1
        drawn = False
        for number, row in enumerate(table.rows):
            epochs, mean, low, high = curve_of(row)
            if not epochs:
                continue
            drawn = True
            colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
            label = row.name if len(row.runs) == 1 else f"{row.name} ({len(row.runs)} seeds)"
            marker = "." if len(epochs) < 40 else None
            axes.plot(
                epochs, [scale * value for value in mean], style, color=colour, label=_literal(label), marker=marker
            )
            if len(row.runs) > 1:
                axes.fill_between(
                    epochs, [scale * v for v in low], [scale * v for v in high], color=colour, alpha=0.15, linewidth=0
                )
        unit = " (%)" if table.metric.percent else ""
        axes.set_title(_literal(f"{table.dataset}: validation {table.metric.name}{unit}"), loc="left")
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if drawn:
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
        else:
            axes.text(0.5, 0.5, "no curve is recorded", ha="center", va="center", transform=axes.transAxes)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower().removeprefix("."), dpi=130)


def _literal(text: str) -> str:
    """Return a text for matplotlib: no formula begins at a dollar, no character breaks the picture."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return ("\u200b" if shown.startswith("_") else "") + shown.replace("$", r"\$")  # a label with _ first is left out
