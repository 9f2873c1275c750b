"""The picture of a run: its loss and its metric by epoch."""

from pathlib import Path
from typing import Any

from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.objectives import METRICS
from grpe_dgl.training.history import best_epoch


def draw_curves(history: list[dict[str, Any]], *, metric: str, loss: str, title: str, path: Path) -> None:
    """Draw training loss and validation metric side by side, the best epoch marked, into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    left, right = figure.subplots(1, 2)
    epochs = [row["epoch"] for row in history]
    left.plot(epochs, [row["train_loss"] for row in history], marker=".", color="#1f5fa8")
    left.set_title(f"training loss ({loss})", loc="left")
    scale = 100 if METRICS[metric].percent else 1
    measured = [(row["epoch"], scale * row[f"valid_{metric}"]) for row in history if row[f"valid_{metric}"] is not None]
    right.plot([x for x, _ in measured], [y for _, y in measured], marker=".", color="#b3541e")
    right.set_title(f"validation {metric}{' (%)' if METRICS[metric].percent else ''}", loc="left")
    best = best_epoch(history, metric)
    if best is not None:
        value = scale * history[best][f"valid_{metric}"]
        right.axhline(value, color="0.7", linewidth=0.8, zorder=0)
        label = f"best {value:.4g}, epoch {epochs[best]}"
        right.plot([epochs[best]], [value], "o", label=label, color="#b3541e", markersize=8, fillstyle="none")
        # Above the axes, where no curve can run under it.
        right.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, frameon=False, handletextpad=0.2)
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(epochs) == 1:  # one point: a range of its own would be a sliver of an epoch
            axes.set_xlim(epochs[0] - 1, epochs[0] + 1)
        axes.grid(alpha=0.3)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
