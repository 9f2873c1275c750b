"""One run in a folder: train, save, resume, evaluate, report."""

import csv
import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.checkpoint.transfer import freeze_encoder
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.curves import draw_curves
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import is_labelled, measure, predict_split
from grpe_dgl.training.loop import best_epoch, train
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, make_optimizer, seed_everything
from grpe_dgl.training.stop_request import Stopped, StopRequest

SECONDS_BETWEEN_SAVES = 600.0  # inside an epoch; every epoch's end is saved anyway


@dataclass(frozen=True)
class Callbacks:
    """Callbacks that report progress; each may be left out."""

    start: Callable[[int, int, int], object] = lambda epochs, update, updates: None
    """Before the first update: how many epochs and updates an earlier session made, and of how many updates."""
    step: Callable[[int, int, float, float], object] = lambda update, updates, loss, rate: None
    """After every update: how many are done, of how many, the loss and the learning rate."""
    epoch: Callable[[dict[str, Any], bool], object] = lambda row, is_best: None
    """After every epoch: its row of ``metrics.csv`` and whether it is the best so far."""


NO_CALLBACKS = Callbacks()


def run(
    recipe: Recipe,
    data: Dataset,
    folder: Path,
    *,
    start: Callable[[GraphModel], dict[str, Any]] | None = None,
    processes: Processes = SINGLE,
    stop: StopRequest | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    backend: str | None = None,
) -> dict[str, Any]:
    """Train one model with one seed in a folder, from its start or from where it was left; return its results.

    The folder gets ``recipe.yaml``, ``metrics.csv``, ``last.ckpt``, ``best.ckpt``, ``curves.png`` and, at the end,
    ``results.json``; a run that has the last is done and only read.

    Parameters
    ----------
    recipe
        Resolved, without variants; its seed is the run's.
    data
        The dataset, opened with the recipe's max_distance.
    folder
        Made if it is not there. A checkpoint in it is resumed.
    start
        Puts other weights than random ones into the new model, and returns where they come from.
    processes
        Who trains along; the first writes.
    stop
        Asked after every update; if it says so, the run saves itself and raises `Stopped`.
    callbacks
        Who is told.
    backend
        See `grpe_dgl.ops.relative_attention`.
    """
    recipe = recipe.fit_to_task(data.task)
    training = recipe.training
    assert training.metric is not None and training.loss is not None
    results_file = folder / "results.json"
    if results_file.exists():
        return json.loads(results_file.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)

    schema = data.schema
    torch.manual_seed(training.seed)  # the weights are the same on every process
    model = build_model(recipe.model, schema, backend=backend)
    provenance = {} if start is None else start(model)
    if training.freeze_encoder:
        freeze_encoder(model)
    model.to(processes.device)
    state = State(model, make_optimizer(model, training))
    seed_everything(training.seed, processes)
    last, best = folder / "last.ckpt", folder / "best.ckpt"
    if last.exists():
        saved = load_checkpoint(last)
        require_same_recipe(recipe, saved.recipe, last)
        model.load_state_dict(saved.weights)
        assert saved.training is not None
        provenance = saved.provenance
        state.load_dict(saved.training, processes)
    elif processes.writes:
        write_text(folder / "recipe.yaml", recipe.to_yaml())

    def save(path: Path, *, resumable: bool) -> None:
        resume = state.to_dict(processes) if resumable else None
        if not processes.writes:
            return
        row = state.history[-1] if state.history else {}
        metrics = {key: value for key, value in row.items() if not key.startswith("seconds")}
        Checkpoint(
            recipe=recipe,
            schema=schema,
            weights=model.state_dict(),
            metrics=metrics,
            provenance=provenance,
            training=resume,
        ).save(path)

    saved_at = time.monotonic()
    updates = Schedule.of(training, -(-len(data.train) // training.batch_size)).last_update
    callbacks.start(len(state.history), state.update, updates)

    def after_step(loss: float, rate: float) -> None:
        nonlocal saved_at
        callbacks.step(state.update, updates, loss, rate)
        asked = stop is not None and stop.asked
        due = processes.writes and time.monotonic() - saved_at >= SECONDS_BETWEEN_SAVES
        if processes.world_size > 1:  # all stop and save after the same update, whoever was asked
            flags = processes.all_reduce(torch.tensor([float(asked), float(due)]))
            asked, due = bool(flags[0]), bool(flags[1])
        if asked or due:
            save(last, resumable=True)
            saved_at = time.monotonic()
        if asked:
            raise Stopped

    for row in train(state, data, training, processes=processes, after_step=after_step):
        is_best = best_epoch(state.history, training.metric) == len(state.history) - 1
        # The best first: killed between the two, the epoch is made again and gives the same.
        if is_best or not best.exists():
            save(best, resumable=False)
        save(last, resumable=True)
        saved_at = time.monotonic()
        if processes.writes:
            write_text(folder / "metrics.csv", _csv(state.history))
        callbacks.epoch(row, is_best)
        processes.wait()
    return _finish(recipe, data, folder, state, processes, stopped_early=state.update < updates)


def require_same_recipe(recipe: Recipe, saved: Recipe, path: Path) -> None:
    """Raise unless a run is resumed with the recipe it was begun with; naming what differs."""
    ours, theirs = (_flat(r.to_dict()) for r in (recipe, saved))
    words = ("description", "paper", "training.runs", "variants")
    differences = [
        f"{key} is {theirs.get(key)!r} there, {ours.get(key)!r} was asked for"
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key) and not key.startswith(words)
    ]
    if differences:
        raise InputError(f"{path} was made by another recipe: {'; '.join(sorted(differences))}")


def _finish(
    recipe: Recipe, data: Dataset, folder: Path, state: State, processes: Processes, *, stopped_early: bool
) -> dict[str, Any]:
    """Evaluate the best model on every labelled split but train, and write the results down."""
    training = recipe.training
    assert training.metric is not None and training.loss is not None
    processes.wait()
    best = load_checkpoint(folder / "best.ckpt")
    state.model.load_state_dict(best.weights)
    place = best_epoch(state.history, training.metric)
    splits = {}
    for name, split in data.splits.items():
        if name == "train" or not len(split) or not is_labelled(split):
            continue
        predictions = predict_split(
            state.model,
            split,
            best.schema,
            batch_size=training.batch_size,
            processes=processes,
            precision=training.precision,
        )
        splits[name] = measure(training.metric, predictions, split.labels())
    seconds = {key: sum(row[key] for row in state.history) for key in state.history[-1] if key.startswith("seconds_")}
    results = {
        "dataset": best.schema.name,
        "seed": training.seed,
        "metric": training.metric,
        "best_epoch": None if place is None else state.history[place]["epoch"],
        "epochs": len(state.history),
        "updates": state.update,
        "stopped_early": stopped_early,
        "splits": splits,
        "parameters": sum(parameter.numel() for parameter in state.model.parameters()),
        "seconds": sum(seconds.values()),
        "seconds_by_part": {key.removeprefix("seconds_"): value for key, value in seconds.items()},
    }
    if processes.writes:
        title = f"{best.schema.name}, seed {training.seed}"
        draw_curves(state.history, metric=training.metric, loss=training.loss, title=title, path=folder / "curves.png")
        write_text(folder / "results.json", json.dumps(results, indent=2) + "\n")
    processes.wait()
    return results


def _csv(history: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(history[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def _flat(nested: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return a nested dict with full keys: ``{"model.layers": 4}``."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        full = f"{path}.{key}" if path else key
        flat |= _flat(value, full) if isinstance(value, dict) else {full: value}
    return flat
