"""One trial of a search: values are drawn, a model is trained with them, and pruned if it is behind the others."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from grpe_dgl.data import load
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe
from grpe_dgl.recipe.search import Choice, Space
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.training.stop_request import StopRequest
from grpe_dgl.workflows.tune.study import load_optuna, trial_folder

if TYPE_CHECKING:
    import optuna

PROBLEM = "error"  # attribute of a trial that could not be trained


@dataclass(frozen=True)
class Trial:
    """One trial, as it is reported."""

    number: int
    values: dict[str, Any]
    """By full key."""
    value: float | None
    """The best validation metric; None if it could not be trained."""
    state: str
    """``complete``, ``pruned`` or ``failed``."""
    is_best: bool = False
    problem: str | None = None


def train_trial(
    trial: "optuna.Trial",
    recipe: Recipe,
    space: Space,
    dataset_folder: Path,
    out: Path,
    metric: str,
    device: str,
    stop: StopRequest | None,
    start: Any,
    before_trial: Callable[[int, dict[str, Any], bool], object] | None,
) -> Trial:
    """Train one trial in its folder and return what it reached."""
    optuna = load_optuna()
    values = {key: _suggest(trial, key, entry) for key, entry in space.items()}
    folder = trial_folder(out, trial)
    files = RunFolder(folder)
    if before_trial is not None:
        before_trial(trial.number, values, files.last.exists())
    reported: list[float] = []

    def report(value: float | None, epoch: int) -> None:
        if value is not None and math.isfinite(value):
            reported.append(value)
            trial.report(value, epoch)

    def after_epoch(row: dict[str, Any], is_best: bool) -> None:
        report(row[f"valid_{metric}"], row["epoch"])
        if trial.should_prune():
            raise optuna.TrialPruned

    state, problem = "complete", None
    try:
        for epoch, value in _known_epochs(files.metrics, metric):
            report(value, epoch)
        chosen = recipe.override(values)
        data = load(dataset_folder, view=chosen.model.view)
        prepare_encodings(data.store, data.view.encodings)
        run(
            chosen,
            data,
            folder,
            start=start,
            processes=Processes(device=torch.device(device)),
            stop=stop,
            callbacks=Callbacks(epoch=after_epoch),
        )
    except optuna.TrialPruned:
        state = "pruned"
    except InputError as error:  # values that do not fit together, or a loss that is not finite
        state, problem = "failed", str(error)
        trial.set_user_attr(PROBLEM, problem)
    if not reported and state == "complete":
        state, problem = "failed", f"{metric} is undefined in every epoch"
    files.last.unlink(missing_ok=True)  # a finished trial is not continued
    best = None
    if reported:
        best = max(reported) if METRICS[metric].higher_is_better else min(reported)
    return Trial(trial.number, values, best, state, problem=problem)


def _known_epochs(file: Path, metric: str) -> list[tuple[int, float | None]]:
    """Return the epochs that a killed trial has completed, with their validation metric."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [(int(row["epoch"]), float(row[f"valid_{metric}"]) if row[f"valid_{metric}"] else None) for row in rows]


def _suggest(trial: "optuna.Trial", key: str, entry: Any) -> Any:
    if isinstance(entry, Choice):
        return trial.suggest_categorical(key, list(entry.values))
    if entry.whole:
        return trial.suggest_int(key, int(entry.low), int(entry.high), step=int(entry.step or 1), log=entry.log)
    value = trial.suggest_float(key, entry.low, entry.high, step=entry.step, log=entry.log)
    return float(f"{value:.6g}")  # 0.15000000000000002 in a recipe is hard to read
