"""The plot of a run: its loss and its metric by epoch."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.objectives import METRICS
from grpe_dgl.training.history import best_epoch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOSS_COLOUR, METRIC_COLOUR = "#1f5fa8", "#b3541e"
FLAT = 1e-5  # relative: a range this small is rounding, not progress


def is_flat(values: Sequence[float]) -> bool:
    """Whether finite values differ by no more than rounding."""
    return not values or max(values) - min(values) <= FLAT * max(abs(value) for value in values)


def draw_curves(history: list[dict[str, Any]], *, metric: str, loss: str, title: str, path: Path) -> None:
    """Draw training loss and validation metric side by side, the best epoch marked, into a PNG file."""
    # Here for start-up time: only the end of a run draws.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, wrap=True)
    left, right = figure.subplots(1, 2)

    losses = [(row["epoch"], row["train_loss"]) for row in history if row["train_loss"] is not None]
    _plot(left, losses, f"training loss ({loss})", LOSS_COLOUR)
    if losses:
        _mark(left, *losses[-1], "last", LOSS_COLOUR)

    percent = METRICS[metric].percent
    scale = 100 if percent else 1
    measured = [(row["epoch"], scale * row[f"valid_{metric}"]) for row in history if row[f"valid_{metric}"] is not None]
    _plot(right, measured, f"validation {metric}{' (%)' if percent else ''}", METRIC_COLOUR)
    if not measured:
        right.text(0.5, 0.5, "not measured", ha="center", va="center", color="0.5", transform=right.transAxes)
    best = best_epoch(history, metric)
    if best is not None:
        value = scale * history[best][f"valid_{metric}"]
        right.axhline(value, color="0.7", linewidth=0.8, zorder=0)
        _mark(right, history[best]["epoch"], value, "best", METRIC_COLOUR)

    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(history) == 1:  # matplotlib would show a fraction of an epoch around a single point
            axes.set_xlim(history[0]["epoch"] - 1, history[0]["epoch"] + 1)
        axes.grid(alpha=0.3)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _plot(axes: "Axes", points: list[tuple[int, float]], title: str, colour: str) -> None:
    """Plot (epoch, value) points; the title leaves a line free above the axes for the legend of `_mark`."""
    axes.plot([x for x, _ in points], [y for _, y in points], marker=".", color=colour)
    axes.set_title(title, loc="left", pad=24)
    values = [y for _, y in points if math.isfinite(y)]
    if values and is_flat(values):  # matplotlib would stretch differences of rounding over the whole height
        margin = 0.1 * abs(values[0]) or 1.0
        axes.set_ylim(values[0] - margin, values[0] + margin)


def _mark(axes: "Axes", epoch: int, value: float, name: str, colour: str) -> None:
    """Circle a point and give its value in a legend between title and axes, where it overlaps neither of them."""
    label = f"{name} {value:.4g}, epoch {epoch}"
    axes.plot([epoch], [value], "o", label=label, color=colour, markersize=8, fillstyle="none")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1, borderpad=0.3, frameon=False, handletextpad=0.2
    )
