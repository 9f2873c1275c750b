"""The sections of a report: the comparison of all models, then the details of each."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted, significant
from grpe_dgl.objectives import METRICS, METRICS_OF_KIND
from grpe_dgl.workflows.compare.comparison import Comparison
from grpe_dgl.workflows.compare.curves import curve_of, read_curve
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Run
from grpe_dgl.workflows.compare.tables import Table
from grpe_dgl.workflows.compare.text import cells_of, paper_text, title
from grpe_dgl.workflows.report.attention import attention_section
from grpe_dgl.workflows.report.charts import MOST_TARGETS, prediction_cards
from grpe_dgl.workflows.report.evidence import Evidence, gather
from grpe_dgl.workflows.report.markup import Markup, card, element, facts, join, number, table
from grpe_dgl.workflows.report.molecules import extremes
from grpe_dgl.workflows.report.plot import Plot, padded

STYLES = [f"s{colour}{dash}" for dash in ("", " dash", " dot") for colour in range(8)]


def best_of(row: Row) -> Run:
    """Return the run of a model with the best validation metric, the first of equals."""
    best, value = row.runs[0], math.nan
    for run in row.runs:
        if METRICS[run.metric].better(run.value("valid"), value):
            best, value = run, run.value("valid")
    return best


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
    """Return the validation curves of all models of a table in one chart."""
    scale = 100 if compared.metric.percent else 1
    curves = [curve_of(row) for row in compared.rows]
    values = [scale * value for _, _, low, high in curves for value in (*low, *high)]
    epochs = [epoch for each, *_ in curves for epoch in each]
    if not epochs or (len(compared.rows) == 1 and len(compared.rows[0].runs) == 1):  # its details have it
        return Markup("")
    unit = " (%)" if compared.metric.percent else ""
    name = f"validation {compared.metric.name}{unit}"
    plot = Plot(name, _epochs(epochs), padded(values), x_label="epoch", y_label=name, whole_x=True, wide=True)
    legend = []
    for style, row, (at, mean, low, high) in zip(_cycle(len(curves)), compared.rows, curves, strict=True):
        if not at:
            continue
        if len(row.runs) > 1:
            plot.band(at, [scale * v for v in low], [scale * v for v in high], style)
        plot.line([(x, scale * y) for x, y in zip(at, mean, strict=True)], style, dots=len(at) <= 60)
        for x, y in zip(at, mean, strict=True):
            plot.tip(x, scale * y, f"{row.name}\nepoch {x}: {compared.metric.text(y)}")
        legend.append((style, row.name))
    note = (
        "A line is the mean over the seeds, a band their range." if any(len(r.runs) > 1 for r in compared.rows) else ""
    )
    return element("div", card(name, plot.svg(), _legend(legend), note=note, width="double"), class_="cards")


def run_section(row: Row, number_of_run: int, dataset: Path | None = None) -> Markup:
    """Return the details of a model: of its run with the best validation metric."""
    run = best_of(row)
    evidence = gather(run, dataset)
    parts: list[object] = [element("h2", row.name)]
    if len(row.runs) > 1:
        parts.append(
            element("p", f"The run with the best validation metric of {len(row.runs)}: seed {run.seed}.", class_="lead")
        )
    parts.append(_headline(row, run))
    parts += [element("h3", "What was trained, and on what"), _trained(row, run, evidence)]
    parts += [element("h3", "Results"), *_results(row, run, evidence)]
    parts += [element("h3", "Training"), element("div", *_curves(run), *_time(run), class_="cards")]
    if charts := prediction_cards(evidence):
        parts.append(element("h3", f"Predictions for the split {evidence.split}"))
        targets = evidence.target_names
        if len(targets) > MOST_TARGETS and evidence.kind != "multiclass":
            parts.append(element("p", f"The first {MOST_TARGETS} of {len(targets)} targets.", class_="note"))
        parts.append(element("div", *charts, class_="cards"))
    if found := extremes(evidence):
        parts += [element("h3", f"Best and worst predictions of the split {evidence.split}"), *found]
    if attention := attention_section(evidence, number_of_run):
        parts += [element("h3", "Attention"), attention]
    parts += [element("h3", "Hardware and versions"), _environment(run)]
    if evidence.missing:
        parts.append(element("p", "Not shown: ", "; ".join(evidence.missing), class_="note"))
    return element("section", *parts, id=f"run-{number_of_run}")


def _headline(row: Row, run: Run) -> Markup:
    metric = METRICS[run.metric]
    boxes: list[tuple[object, str]] = []
    for split in ("test", "valid"):
        if split in run.results["splits"]:
            value = run.value(split)
            boxes.append((number(value, metric.text(value)), f"{split} {metric.name}"))
    if row.parameters is not None:
        boxes.append((f"{row.parameters:,}", "parameters"))
    boxes.append((str(run.results["epochs"]), "epochs"))
    seconds = run.results.get("seconds")
    if seconds is not None:
        boxes.append((_duration(seconds), "training"))
    return element(
        "div", *(element("div", element("b", value), element("span", name)) for value, name in boxes), class_="big"
    )


def _trained(row: Row, run: Run, evidence: Evidence) -> Markup:
    results, task = run.results, evidence.task
    data, model = results.get("data") or {}, results.get("model") or {}
    graphs = data.get("graphs") if isinstance(data.get("graphs"), dict) else {}
    description = model.get("description") or ("" if run.recipe is None else run.recipe.model.describe())
    best = results.get("best_epoch")
    pairs: list[tuple[str, object]] = [
        ("recipe", results.get("recipe")),
        ("variant", results.get("variant")),
        ("description", None if run.recipe is None else run.recipe.description),
        ("model", f"{row.family or 'unknown'}: {description}" if description else row.family),
        ("dataset", results.get("dataset")),
        ("graphs", ", ".join(f"{name} {count:,}" for name, count in (graphs or {}).items() if isinstance(count, int))),
        ("predicts", None if task is None else f"{task.kind} per {task.level}: {_some(task.targets)}"),
        ("classes", None if task is None or not task.classes else _some(task.classes)),
        ("seed", str(run.seed)),
        ("best epoch", None if best is None else f"{best} of {results['epochs']}"),
        ("stopped early", "yes" if results.get("stopped_early") else None),
    ]
    if run.recipe is not None:
        training = run.recipe.training
        pairs += [
            ("batch size", str(training.batch_size)),
            ("learning rate", f"{training.learning_rate:g}"),
            ("loss", training.loss),
            ("starts from", run.recipe.start_from),
        ]
    pairs.append(("folder", str(run.folder)))
    return facts(pairs)


def _results(row: Row, run: Run, evidence: Evidence) -> list[Markup]:
    metric = METRICS[run.metric]
    several = len(row.runs) > 1
    header = ["split", f"{metric.name}, seed {run.seed}", *([f"mean of {len(row.runs)} seeds"] if several else [])]
    rows = []
    for split in run.results["splits"]:
        value = run.value(split)
        spread = row.splits[split]
        mean = [number(spread.mean, metric.text(spread.mean, spread.deviation))] if several else []
        rows.append([split, number(value, metric.text(value)), *mean])
    parts = [table(header, rows)]
    if row.paper is not None:
        setting = {True: "the same setting", False: "another setting", None: "not known whether it is the same setting"}
        pairs: list[tuple[str, object]] = [
            ("paper", paper_text(row)),
            ("table", row.paper.table),
            ("setting", setting[row.is_papers_setting]),
        ]
        parts += [element("h4", "Beside the paper"), facts(pairs)]
        if row.differs:
            parts.append(element("p", "What differs from the paper's setting:"))
            parts.append(element("ul", *(element("li", text) for text in row.differs)))
        parts += _papers_table(row, run)
    others = _other_metrics(run, evidence)
    if others:
        parts += [
            element("h4", "Other metrics of the same predictions"),
            table(["metric", f"{evidence.split}"], others),
        ]
    return parts


def _papers_table(row: Row, run: Run) -> list[Markup]:
    """Return the rows of the paper's table that the shipped recipes quote, this run's number first."""
    from grpe_dgl.workflows.setting import paper_rows

    assert row.paper is not None
    others = paper_rows(row.paper.table)
    if not others:
        return []
    metric = METRICS[run.metric]
    measured = ", ".join(
        f"{metric.text(spread.mean, spread.deviation)} ({split} {metric.name})"
        for split, spread in row.splits.items()
        if split != "train"
    )
    ours = [f"this page: {row.name}", "" if row.parameters is None else f"{row.parameters:,}", measured]
    rows = [ours, *([name, getattr(paper, "parameters", None) or "", paper.text()] for name, paper in others)]
    title = element("h4", f"The paper's table: {row.paper.table}")
    return [title, table(["recipe", "parameters", "number"], rows, marked=0)]


def _other_metrics(run: Run, evidence: Evidence) -> list[list[object]]:
    """Return the metrics of the task that did not select the best epoch, computed from the stored predictions."""
    if evidence.predictions is None or evidence.task is None:
        return []
    import torch

    from grpe_dgl.training.evaluation import compute

    predicted, labels = (
        torch.from_numpy(array) for array in (evidence.predictions.predictions, evidence.predictions.labels)
    )
    rows: list[list[object]] = []
    for name in METRICS_OF_KIND[evidence.task.kind]:
        if name == run.metric or METRICS[name].per_batch:
            continue
        try:
            value = compute(name, predicted, labels)
        except (InputError, ValueError):
            continue
        rows.append([name, number(value, METRICS[name].text(value))])
    return rows


def _curves(run: Run) -> list[Markup]:
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
            _epochs(list(points)),
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


def _time(run: Run) -> list[Markup]:
    """Return where the time went, as one bar of parts and a table."""
    parts = {
        str(name): float(value)
        for name, value in (run.results.get("seconds_by_part") or {}).items()
        if isinstance(value, (int, float)) and value >= 0
    }
    total = sum(parts.values())
    if total <= 0:
        return []
    styled = list(zip(_cycle(len(parts)), sorted(parts.items(), key=lambda item: -item[1]), strict=True))
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
    note = f"{_duration(total)} in all, {per_epoch:,.1f} s per epoch, validation included."
    return [card("where the time went", bar, table(["part", "time", "share"], rows), note=note)]


def _environment(run: Run) -> Markup:
    hardware: Mapping[str, Any] = run.results.get("hardware") or {}
    versions: Mapping[str, Any] = run.results.get("versions") or {}
    if not hardware and not versions:
        return element("p", "Not recorded: an earlier version of grpe-dgl trained this run.", class_="note")
    memory, peak = hardware.get("memory_bytes"), run.results.get("peak_memory_bytes")
    kind = (run.results.get("peak_memory") or {}).get("of")
    pairs: list[tuple[str, object]] = [
        ("processor", hardware.get("processor")),
        ("GPU", hardware.get("gpu")),
        ("cores", hardware.get("cores")),
        ("threads", hardware.get("threads")),
        ("processes", hardware.get("processes")),
        ("memory", f"{memory / 1e9:.0f} GB" if isinstance(memory, (int, float)) else None),
        ("peak memory", f"{peak / 1e6:,.0f} MB of the {'GPU' if kind == 'gpu' else 'process'}" if peak else None),
        ("system", hardware.get("platform")),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
    return facts(pairs)


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


def _cycle(count: int) -> list[str]:
    return [STYLES[place % len(STYLES)] for place in range(count)]


def _epochs(epochs: Sequence[int]) -> tuple[float, float]:
    low, high = min(epochs), max(epochs)
    return (low - 1.0, high + 1.0) if low == high else (float(low), float(high))


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", ... ({counted(len(names), 'name')})" if len(names) > most else "")
