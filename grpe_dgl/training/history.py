"""The history of a run: one row per epoch, the columns of ``metrics.csv``."""

import csv
import io
import math
from typing import Any

from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import TrainingRecipe

History = list[dict[str, Any]]


def best_epoch(history: History, metric: str) -> int | None:
    """Return the index in `history` of the best validation metric, the first of equals; None if there is none."""
    best = None
    for index, row in enumerate(history):
        value = row[f"valid_{metric}"]
        if value is None or math.isnan(value):
            continue
        if best is None or METRICS[metric].better(value, history[best][f"valid_{metric}"]):
            best = index
    return best


def early_stopping_is_due(history: History, training: TrainingRecipe) -> bool:
    """Whether the last ``training.early_stopping`` epochs brought no better validation metric."""
    if training.early_stopping is None:
        return False
    assert training.metric is not None
    best = best_epoch(history, training.metric)
    return best is not None and len(history) - 1 - best >= training.early_stopping


def seconds_by_part(history: History) -> dict[str, float]:
    """Return how long each part of training (``forward``, ``backward``, ...) took, summed over epochs."""
    columns = [column for column in history[-1] if column.startswith("seconds_")]
    return {column.removeprefix("seconds_"): sum(row[column] for row in history) for column in columns}


def to_csv(history: History) -> str:
    """Return the text of ``metrics.csv``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(history[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()
