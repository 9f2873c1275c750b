"""The description of a checkpoint that `grpe info` prints."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpe_dgl.messages import counted

from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.checkpoint.file import Checkpoint


def describe_checkpoint(path: Path, *, as_json: bool) -> None:
    """Print a checkpoint: recipe, parameters, metrics, vocabulary, provenance."""
    from grpe_dgl.checkpoint.build import count_parameters
    from grpe_dgl.checkpoint.file import load_checkpoint

    saved = load_checkpoint(path)
    parameters = count_parameters(saved.recipe.model, saved.schema)
    if as_json:
        content = {
            "recipe": saved.recipe.to_dict(),
            "schema": saved.schema.to_dict(),
            "parameters": parameters,
            "metrics": saved.metrics,
            "provenance": saved.provenance,
            "coverage": None if saved.coverage is None else saved.coverage.to_dict(),
            "resumable": saved.training is not None,
        }
        echo(json.dumps(_without_nan(content), indent=2, allow_nan=False))
        return
    for key, value in _lines(saved, parameters).items():
        echo(f"{key:13} {value}")


def _lines(saved: "Checkpoint", parameters: int) -> dict[str, str]:
    model, training, task = saved.recipe.model, saved.recipe.training, saved.schema.task
    names = ", ".join(task.targets[:5]) + (f", ... ({len(task.targets)} in all)" if len(task.targets) > 5 else "")
    classes = f", {len(task.classes)} classes" if task.kind == "multiclass" else ""
    length = counted(training.updates or 0, "update") if training.epochs is None else counted(training.epochs, "epoch")
    lines = {
        "model": f"{model.NAME}, {model.describe()}",
        "parameters": f"{parameters:,}",
        "dataset": saved.schema.name,
        "task": f"{task.kind} per {task.level}{classes}: {names}",
        "vocabulary": _vocabulary(saved),
        "recipe": saved.recipe.description or "(no description)",
        "training": "by the authors; their file has no settings"
        if "imported_from" in saved.provenance
        else f"{length}, batches of {training.batch_size}, learning rate {training.learning_rate:g}, "
        f"{training.loss} loss, seed {training.seed}",
    }
    scale = saved.schema.target_scale
    if scale is not None and len(scale[0]) == 1:
        lines["target"] = (
            f"standardised by mean {scale[0][0]:.6g}, deviation {scale[1][0]:.6g}; predictions are in the original unit"
        )
    if saved.metrics:
        lines["metrics"] = ", ".join(f"{key} {_number(value)}" for key, value in saved.metrics.items())
    if saved.coverage is not None:
        lines["trained on"] = saved.coverage.text()
    lines |= _provenance(saved.provenance)
    if saved.training is not None:
        command = "finetune" if "started_from" in saved.provenance else "train"
        lines["resumable"] = f"yes, with grpe {command} --resume"
    return lines


def _vocabulary(saved: "Checkpoint") -> str:
    schema = saved.schema
    if schema.node_vocabulary is None:
        nodes = f"{schema.node_features} numbers per node"
    else:
        nodes = f"node columns of {', '.join(map(str, schema.node_vocabulary))} values"
    return f"{schema.vocabulary}: {nodes}, {schema.num_edge_types} edge types"


def _provenance(provenance: dict[str, Any]) -> dict[str, str]:
    """Return the lines on where the weights come from; a Python program may have recorded less than the commands do."""
    lines = {}
    if "imported_from" in provenance:
        zero = provenance.get("zero_started", [])
        listed = f"; started at zero: {len(zero)} values ({', '.join(zero[:3])}, ...)" if zero else ""
        lines["imported from"] = f"{provenance['imported_from']}, the authors' weights{listed}"
    elif "from_scratch" in provenance:
        lines["from scratch"] = str(provenance["from_scratch"])
    elif "pretrained_on" in provenance:
        lines["pretrained on"] = str(provenance["pretrained_on"])
    elif "started_from" in provenance:
        source, dataset = str(provenance["started_from"]), str(provenance.get("dataset", ""))
        data = f", a model of {dataset}" if dataset not in ("", source) else ""
        lines["started from"] = f"{source}{data}"
    if "sha256" in provenance:
        lines["SHA-256"] = str(provenance["sha256"])
    for title, key in (("new", "fresh"), ("not used", "left")):
        if provenance.get(key):
            lines[title] = ", ".join(provenance[key])
    before = _provenance(provenance["provenance"]) if provenance.get("provenance") else {}
    if before:
        lines["before that"] = ", ".join(f"{key} {value}" for key, value in before.items())
    return lines


def _without_nan(value: Any) -> Any:
    """Return plain values with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
