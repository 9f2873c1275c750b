"""The plot of a run's predictions: predicted against true, or the ROC and the precision-recall curve."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.schema import Task
from grpe_dgl.training.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]
COLOURS = ("#1f5fa8", "#b3541e", "#00735c", "#a3397c", "#8a6500", "#5a5f66")
MOST_TARGETS = 6
MOST_POINTS = 20_000  # of a scatter plot: more take seconds to draw and are a blot


def draw_predictions(found: Predictions, task: Task, *, split: str, title: str, path: Path) -> bool:
    """Draw the predictions for a split into a PNG file; return whether there was something to draw.

    Regression: predicted against true, a panel per target. Yes/no targets: ROC and precision-recall, a line per target
    whose labels are of both classes. Classes of graphs: the same of each class against the others. The first six
    targets or classes are drawn. Nothing is drawn for classes of nodes.
    """
    if task.kind == "regression":
        columns = _columns(found, task, lambda labels: len(labels) > 0)
    elif task.kind == "binary":
        columns = _columns(found, task, lambda labels: 0 < labels.sum() < len(labels))
    elif task.level == "graph":
        columns = _classes(found, task)
    else:
        return False
    if not columns:
        return False
    # Here for start-up time: only the end of a run draws.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = columns[:MOST_TARGETS]
    noun = "classes" if task.kind == "multiclass" else "targets"
    more = f" (the first {MOST_TARGETS} of {len(columns)} {noun})" if len(columns) > MOST_TARGETS else ""
    rows, across = (-(-len(shown) // 3), min(len(shown), 3)) if task.kind == "regression" else (1, 2)
    figure = Figure(figsize=(4.5 * across, 4.5 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_literal(f"{title}, split {split}{more}"), wrap=True)
    panels = list(figure.subplots(rows, across, squeeze=False).flat)
    if task.kind != "regression":
        _ranking(panels, shown, named=task.kind == "multiclass" or len(task.targets) > 1)
    else:
        for axes, (name, predicted, labels) in zip(panels, shown, strict=False):
            _scatter(axes, name, predicted, labels)
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return True


def _columns(found: Predictions, task: Task, usable: Any) -> list[tuple[str, Array, Array]]:
    """Return name, predictions and labels of the targets that can be drawn, rows without a label left out."""
    columns = []
    for number, name in enumerate(task.targets):
        predicted, labels = (a[:, number].astype(np.float64) for a in (found.predictions, found.labels))
        use = np.isfinite(predicted) & np.isfinite(labels)
        if usable(labels[use]):
            columns.append((name, predicted[use], labels[use]))
    return columns


def _classes(found: Predictions, task: Task) -> list[tuple[str, Array, Array]]:
    """Return name, log of the odds and membership of the classes that some of the labelled rows have and some do not.

    The log of the odds of a class is its logit minus the log-sum-exp of the others'.
    """
    use = (found.labels >= 0) & np.isfinite(found.predictions).all(1)
    logits, labels = found.predictions[use].astype(np.float64), found.labels[use]
    columns = []
    for number, name in enumerate(task.classes):
        own = (labels == number).astype(np.float64)
        if 0 < own.sum() < len(own):
            others = np.logaddexp.reduce(np.delete(logits, number, axis=1), axis=1)
            columns.append((name, logits[:, number] - others, own))
    return columns


def _scatter(axes: "Axes", name: str, predicted: Array, labels: Array) -> None:
    error = float(np.abs(predicted - labels).mean())
    count = len(labels)
    if count > MOST_POINTS:
        chosen = np.random.default_rng(0).choice(count, MOST_POINTS, replace=False)
        predicted, labels = predicted[chosen], labels[chosen]
    low, high = min(predicted.min(), labels.min()), max(predicted.max(), labels.max())
    room = 0.04 * (high - low) or 1.0
    axes.plot([low - room, high + room], [low - room, high + room], color="0.6", linewidth=1, linestyle="--", zorder=0)
    size = 14 if len(labels) < 2000 else 5
    axes.scatter(labels, predicted, s=size, color=COLOURS[0], alpha=0.55, linewidths=0)
    axes.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
    axes.set_xlabel(_literal(f"true {name}"))
    axes.set_ylabel(_literal(f"predicted {name}"))
    part = f"{MOST_POINTS:,} of {count:,} drawn" if count > MOST_POINTS else f"{count:,} labels"
    axes.set_title(f"mean absolute error {error:.4g}, {part}", loc="left", fontsize="medium")
    axes.grid(alpha=0.3)


def _ranking(panels: "list[Axes]", columns: list[tuple[str, Array, Array]], *, named: bool) -> None:
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    left, right = panels
    left.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", zorder=0)
    for colour, (name, predicted, labels) in zip(COLOURS, columns, strict=False):
        prefix = f"{name}: " if named else ""
        false_rate, true_rate, _ = roc_curve(labels, predicted)
        area = f"{prefix}{100 * roc_auc_score(labels, predicted):.2f} %"
        left.plot(false_rate, true_rate, color=colour, label=_literal(area))
        precision, recall, _ = precision_recall_curve(labels, predicted)
        score = f"{prefix}{100 * average_precision_score(labels, predicted):.2f} %"
        right.plot(recall, precision, color=colour, label=_literal(score))
        right.axhline(labels.mean(), color=colour, linewidth=0.8, linestyle=":", zorder=0)
    left.set(xlabel="false positive rate", ylabel="true positive rate", title="ROC curve, area")
    right.set(xlabel="recall", ylabel="precision", title="precision and recall, average precision")
    for axes in panels:
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", framealpha=0.85)


def _literal(text: str) -> str:
    """Return a text for matplotlib: no formula begins at a dollar, and a name that begins with _ is shown."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return ("\u200b" if shown.startswith("_") else "") + shown.replace("$", r"\$")
