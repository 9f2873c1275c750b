"""The section of a report that compares all models: tables and overlaid validation curves."""

from collections.abc import Sequence

from grpe_dgl.workflows.compare.comparison import Comparison
from grpe_dgl.workflows.compare.curves import curve_of
from grpe_dgl.workflows.compare.tables import Table
from grpe_dgl.workflows.compare.text import cells_of, title
from grpe_dgl.workflows.report.markup import Markup, card, element, table
from grpe_dgl.workflows.report.plot import Plot, epoch_range, padded, styles

_Curve = tuple[list[int], list[float], list[float], list[float]]  # what `curve_of` returns


def comparison_section(comparison: Comparison) -> Markup:
    """Return the tables of `grpe compare` with the curves of each, and what was not compared."""
    parts: list[object] = []
    if len(comparison.tables) > 1:
        parts.append(
            element(
                "p",
                "Runs that were trained on other data or splits, or selected by another metric, are not compared: they "
                "have a table of their own.",
            )
        )
    for each in comparison.tables:
        header, rows, notes = cells_of(each)
        parts.append(element("h3", title(each)))
        parts.append(table(header, rows))
        parts += [element("p", note, class_="note") for note in notes]
        parts.append(_overlay(each))
    if comparison.excluded:
        parts.append(element("h3", "Not compared"))
        parts.append(table(["folder", "reason"], [[each.folder, each.reason] for each in comparison.excluded]))
    return element("section", element("h2", "Comparison"), *parts, id="comparison")


def _overlay(compared: Table) -> Markup:
    """Return the validation curves of all models of a table in one chart: a wide one, and one for narrow screens."""
    curves = [curve_of(row) for row in compared.rows]
    if not any(at for at, *_ in curves) or (len(compared.rows) == 1 and len(compared.rows[0].runs) == 1):
        return Markup("")  # the details of a single run have its curve
    unit = " (%)" if compared.metric.percent else ""
    name = f"validation {compared.metric.name}{unit}"
    charts = [
        _chart(compared, curves, name, wide=True).svg("wide-chart"),
        _chart(compared, curves, name, wide=False).svg("narrow-chart"),
    ]
    shown = zip(styles(len(curves)), compared.rows, curves, strict=True)
    legend = _legend([(style, row.name) for style, row, (at, *_) in shown if at])
    note = (
        "A line is the mean over the seeds, a band their range." if any(len(r.runs) > 1 for r in compared.rows) else ""
    )
    return element("div", card(name, *charts, legend, note=note, width="double"), class_="cards")


def _chart(compared: Table, curves: Sequence[_Curve], name: str, *, wide: bool) -> Plot:
    scale = 100 if compared.metric.percent else 1
    values = [scale * value for _, _, low, high in curves for value in (*low, *high)]
    epochs = [epoch for each, *_ in curves for epoch in each]
    plot = Plot(name, epoch_range(epochs), padded(values), x_label="epoch", y_label=name, whole_x=True, wide=wide)
    for style, row, (at, mean, low, high) in zip(styles(len(curves)), compared.rows, curves, strict=True):
        if not at:
            continue
        if len(row.runs) > 1:
            plot.band(at, [scale * v for v in low], [scale * v for v in high], style)
        plot.line([(x, scale * y) for x, y in zip(at, mean, strict=True)], style, dots=len(at) <= 60)
        for x, y in zip(at, mean, strict=True):
            plot.tip(x, scale * y, f"{row.name}\nepoch {x}: {compared.metric.text(y)}")
    return plot


def _legend(entries: Sequence[tuple[str, str]]) -> Markup:
    if len(entries) < 2:
        return Markup("")
    return element(
        "ul",
        *(
            element("li", Markup(f'<svg viewBox="0 0 28 8"><path class="line {style}" d="M1 4H27"/></svg>'), name)
            for style, name in entries
        ),
        class_="legend",
    )
