"""The section of a report on one model: what was trained on what, results, charts, molecules, hardware."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.messages import counted
from grpe_dgl.objectives import METRICS
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Run
from grpe_dgl.workflows.report.assembly import headline
from grpe_dgl.workflows.report.attention import attention_section
from grpe_dgl.workflows.report.charts import MOST_TARGETS, prediction_cards
from grpe_dgl.workflows.report.evidence import Evidence, gather
from grpe_dgl.workflows.report.markup import Markup, element, facts, number
from grpe_dgl.workflows.report.molecules import extremes
from grpe_dgl.workflows.report.results import result_parts
from grpe_dgl.workflows.report.training import duration, time_parts, training_curves


def model_section(row: Row, number_of_run: int, dataset: Path | None = None) -> Markup:
    """Return the details of a model: of its run with the best validation metric."""
    run = _best_of(row)
    evidence = gather(run, dataset)
    parts: list[object] = [element("h2", row.name)]
    if len(row.runs) > 1:
        parts.append(
            element("p", f"The run with the best validation metric of {len(row.runs)}: seed {run.seed}.", class_="lead")
        )
    parts.append(_headline(row, run))
    parts += [element("h3", "What was trained, and on what"), _trained(row, run, evidence)]
    parts += [element("h3", "Results"), *result_parts(row, run, evidence)]
    parts += [element("h3", "Training"), element("div", *training_curves(run), *time_parts(run), class_="cards")]
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


def _best_of(row: Row) -> Run:
    """Return the run of a model with the best validation metric, the first of equals."""
    best, value = row.runs[0], math.nan
    for run in row.runs:
        if METRICS[run.metric].better(run.value("valid"), value):
            best, value = run, run.value("valid")
    return best


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
        boxes.append((duration(seconds), "training"))
    return headline(boxes)


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


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", ... ({counted(len(names), 'name')})" if len(names) > most else "")
