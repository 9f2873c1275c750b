"""The results of one model in a report: its metrics, the paper's numbers beside them, and other metrics."""

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS, METRICS_OF_KIND
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Run
from grpe_dgl.workflows.compare.text import paper_text
from grpe_dgl.workflows.report.evidence import Evidence
from grpe_dgl.workflows.report.markup import Markup, element, facts, number, table


def result_parts(row: Row, run: Run, evidence: Evidence) -> list[Markup]:
    """Return the tables of the run's metrics per split, of the paper's numbers and of other metrics."""
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
