"""The report on a cross-validation: its folds, and the predictions of every row by models that never saw it."""

import csv
import dataclasses
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from grpe_dgl.data.batching.labels import decode_labels
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.inference.calibration import FILE as CALIBRATION
from grpe_dgl.inference.calibration import read_calibration
from grpe_dgl.io.run_models import FOLDS, models_of
from grpe_dgl.messages import counted
from grpe_dgl.objectives import METRICS, Metric
from grpe_dgl.training.predictions import Predictions
from grpe_dgl.workflows.compare.runs import Run, read_run
from grpe_dgl.workflows.experiment import DATA
from grpe_dgl.workflows.report.assembly import assemble, headline
from grpe_dgl.workflows.report.charts import MOST_TARGETS, prediction_cards
from grpe_dgl.workflows.report.evidence import Evidence
from grpe_dgl.workflows.report.markup import Markup, element, number, table
from grpe_dgl.workflows.report.molecules import extremes

SUMMARY, PREDICTIONS = "summary.json", "predictions.csv"


def is_cross_validation(folder: Path) -> bool:
    """Whether a folder is that of a finished cross-validation."""
    return all((folder / name).is_file() for name in (FOLDS, SUMMARY, PREDICTIONS))


def render_folds(folder: Path, dataset: Path | None = None) -> str:
    """Return the page about a cross-validation: all folds, their models, and the predictions held out.

    Parameters
    ----------
    folder
        Of the cross-validation.
    dataset
        The folder of its processed dataset; None: the one inside `folder`.
    """
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        row, plan, held_out = summary["rows"][0], summary["folds"], summary["held_out"]
        metric = METRICS[held_out["metric"]]
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{folder / SUMMARY} is not the summary of a cross-validation") from None
    runs = [read_run(path.parent) for path in models_of(folder)]
    evidence = _evidence(folder, dataset or folder / DATA, _together(runs))
    name = str(runs[0].results.get("dataset") or folder.name)
    times = f", {plan['repeats']} times" if plan["repeats"] > 1 else ""
    test = row["splits"]["test"]
    parts: list[object] = [
        element("h1", f"Cross-validation on {name}"),
        element(
            "p",
            f"{plan['folds']} folds by the rule {plan['split']}{times}: {counted(len(runs), 'model')}. Every row was "
            "predicted by models that never saw it.",
            class_="lead",
        ),
        headline(
            [
                (metric.text(test["mean"], test["deviation"]), f"test {metric.name}, mean of the folds"),
                (number(held_out["value"], metric.text(held_out["value"])), f"{metric.name} of all rows together"),
                (f"{held_out['rows']:,}", "rows"),
                (str(len(runs)), "models"),
            ]
        ),
        element("h2", "Results"),
        _results(row, metric),
    ]
    if undefined := sum(value != value for value in test["values"]):
        parts.append(
            element("p", f"Undefined in {undefined} of {len(runs)} folds: their rows lack a class.", class_="note")
        )
    parts += _intervals(folder, evidence)
    parts += [element("h2", "Predictions of rows that were held out"), *_predictions(evidence)]
    parts += [element("h2", "Models"), _models(folder, runs, metric)]
    if evidence.missing:
        parts.append(element("p", "Not shown: ", "; ".join(evidence.missing), class_="note"))
    return assemble(f"Cross-validation on {name}", parts)


def _results(row: dict[str, Any], metric: Metric) -> Markup:
    """Return mean, deviation and range over the folds of every split."""
    rows = []
    for split, numbers in row["splits"].items():
        values = [value for value in numbers["values"] if value == value]
        span = [metric.text(min(values)), metric.text(max(values))] if values else ["", ""]
        rows.append([split, metric.text(numbers["mean"], numbers["deviation"]), *span])
    return table(["split", f"{metric.name}, mean and deviation", "lowest", "highest"], rows)


def _intervals(folder: Path, evidence: Evidence) -> list[Markup]:
    """Return what the rows held out give for intervals and calibrated probabilities."""
    if evidence.task is None or not (folder / CALIBRATION).exists():
        return []
    try:
        lines = read_calibration(folder, models_of(folder)).describe(evidence.task)
    except InputError as error:
        lines = [str(error)]
    title = "Intervals" if evidence.kind == "regression" else "Calibration"
    return [element("h3", title), *(element("p", line) for line in lines)] if lines else []


def _predictions(evidence: Evidence) -> list[Markup]:
    charts = prediction_cards(evidence)
    if not charts:
        return [element("p", "There are none to draw.", class_="note")]
    parts = []
    targets = evidence.target_names
    if len(targets) > MOST_TARGETS and evidence.kind != "multiclass":
        parts.append(element("p", f"The first {MOST_TARGETS} of {len(targets)} targets.", class_="note"))
    parts.append(element("div", *charts, class_="cards"))
    return [*parts, *extremes(evidence)]


def _models(folder: Path, runs: list[Run], metric: Metric) -> Markup:
    """Return the table of the folds' models: where each is and what it reaches."""
    rows = [
        [
            str(run.folder.relative_to(folder)),
            str(run.seed),
            "" if run.results.get("best_epoch") is None else f"{run.results['best_epoch']} of {run.results['epochs']}",
            *(
                number(run.value(split), metric.text(run.value(split))) if split in run.results["splits"] else ""
                for split in ("train", "valid", "test")
            ),
        ]
        for run in runs
    ]
    header = ["folder", "seed", "best epoch", *(f"{split} {metric.name}" for split in ("train", "valid", "test"))]
    return table(header, rows)


def _together(runs: list[Run]) -> Run:
    """Return the first run with the thresholds that all models have together, their means."""
    each = [run.results.get("thresholds") for run in runs]
    known = [thresholds for thresholds in each if isinstance(thresholds, dict)]
    if len(known) < len(runs):
        return runs[0]
    mean = {target: statistics.fmean(thresholds[target] for thresholds in known) for target in known[0]}
    return dataclasses.replace(runs[0], results={**runs[0].results, "thresholds": mean})


def _evidence(folder: Path, dataset: Path, run: Run) -> Evidence:
    """Return the predictions of ``predictions.csv`` beside the labels of the dataset, as far as they are there."""
    missing: list[str] = []
    try:
        store = Store(dataset)
    except (InputError, OSError) as error:
        missing.append(f"the dataset cannot be read, so predictions and molecules are not drawn ({error})")
        return Evidence(run, None, None, None, None, tuple(missing))
    task = store.schema.task
    names = ["row", "smiles", *task.targets, *task.output_columns()]
    try:
        with (folder / PREDICTIONS).open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        if header[: len(names)] != names:
            raise ValueError(f"its columns are {', '.join(header)}")
        first = 2 + len(task.targets)
        of_row = {int(row): graph for graph, row in enumerate(store.row)}
        kept = [line for line in lines if line[first] and int(line[0]) in of_row]
        index = np.array([of_row[int(line[0])] for line in kept], np.int64)
        values = np.array([line[first : len(names)] for line in kept], np.float64).reshape(len(kept), -1)
    except (OSError, ValueError, IndexError) as error:
        missing.append(f"{folder / PREDICTIONS} is damaged: {error}")
        return Evidence(run, None, None, task, store, tuple(missing))
    if task.kind != "regression":  # charts take logits
        values = np.clip(values, 1e-7, 1 - 1e-7)
        values = np.log(values) - (np.log1p(-values) if task.kind == "binary" else 0.0)
    labels = decode_labels(np.asarray(store.label)[index], store.schema)
    predictions = Predictions(index, None, values.astype(np.float32), labels)
    return Evidence(run, "held out", predictions, task, store, ())
