"""How a run was trained, in a report: loss and validation metric by epoch, and where the time went."""

from grpe_dgl.messages import significant
from grpe_dgl.objectives import METRICS
from grpe_dgl.workflows.compare.curves import read_curve
from grpe_dgl.workflows.compare.runs import Run
from grpe_dgl.workflows.report.markup import Markup, card, element, join, table
from grpe_dgl.workflows.report.plot import Plot, epoch_range, padded, styles


def training_curves(run: Run) -> list[Markup]:
    """Return the charts of training loss and validation metric by epoch."""
    metric = METRICS[run.metric]
    loss = "" if run.recipe is None or run.recipe.training.loss is None else f" ({run.recipe.training.loss})"
    cards = []
    for name, column, scale, style in (
        (f"training loss{loss}", "train_loss", 1, "s1"),
        (f"validation {metric.name}{' (%)' if metric.percent else ''}", None, 100 if metric.percent else 1, "s0"),
    ):
        points = read_curve(run, column)
        if not points:
            continue
        plot = Plot(
            name,
            epoch_range(list(points)),
            padded([scale * v for v in points.values()]),
            x_label="epoch",
            y_label="loss" if column else metric.name,
            whole_x=True,
        )
        plot.line([(x, scale * y) for x, y in points.items()], style, dots=len(points) <= 60)
        for x, y in points.items():
            plot.tip(x, scale * y, f"epoch {x}\n{metric.text(y) if column is None else significant(y)}")
        best = run.results.get("best_epoch")
        note = ""
        if column is None and type(best) is int and best in points:
            plot.ring(best, scale * points[best], style)
            note = f"The ring is the best epoch, {best}."
        cards.append(card(name, plot.svg(), note=note))
    return cards


def time_parts(run: Run) -> list[Markup]:
    """Return where the time went, as one bar of parts and a table."""
    parts = {
        str(name): float(value)
        for name, value in (run.results.get("seconds_by_part") or {}).items()
        if isinstance(value, (int, float)) and value >= 0
    }
    total = sum(parts.values())
    if total <= 0:
        return []
    styled = list(zip(styles(len(parts)), sorted(parts.items(), key=lambda item: -item[1]), strict=True))
    bar = element(
        "div",
        *(
            element("i", class_=style, style=f"width:{100 * value / total:.2f}%", title=name)
            for style, (name, value) in styled
        ),
        class_="parts",
    )
    rows = [
        [join([element("i", class_=f"key {style}"), name]), f"{value:,.1f} s", f"{100 * value / total:.1f} %"]
        for style, (name, value) in styled
    ]
    per_epoch = total / max(run.results["epochs"], 1)
    note = f"{duration(total)} in all, {per_epoch:,.1f} s per epoch, validation included."
    return [card("where the time went", bar, table(["part", "time", "share"], rows), note=note)]


def duration(seconds: float) -> str:
    """Return a time for a reader: ``87 s``, ``13 min``, ``2.5 h``."""
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
