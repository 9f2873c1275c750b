"""Train one model with one seed in a folder: start or resume, save checkpoints, evaluate the best one."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grpe_dgl.checkpoint.build import build_model, freeze_encoder
from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.checkpoint.start import choose_start
from grpe_dgl.data.batching.parts import Division
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.domain import TrainingDomain
from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.data.molecules.coverage import Coverage
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe
from grpe_dgl.recipe.comparison import require_same_recipe
from grpe_dgl.training.allocator import freed_memory_is_kept
from grpe_dgl.training.curves import draw_curves
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.environment import PeakMemory, hardware, versions
from grpe_dgl.training.evaluation import batch_of_rows, has_validation, is_labelled, measure, predict_split
from grpe_dgl.training.history import best_epoch, seconds_by_part, to_csv
from grpe_dgl.training.loop import train, training_batches
from grpe_dgl.training.prediction_plot import draw_predictions
from grpe_dgl.training.predictions import SPLITS, Predictions
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, make_optimizer, seed_everything
from grpe_dgl.training.step import training_division
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.training.thresholds import choose_thresholds, shift_to_thresholds
from grpe_dgl.training.weight_average import WeightAverage
from grpe_dgl.views import DESCRIPTORS, Encoding

NOT_METRICS = ("seconds", "peak_memory")  # columns of the history that no checkpoint of a model needs
SECONDS_BETWEEN_SAVES = 600.0  # within an epoch; a checkpoint is saved at the end of every epoch anyway


@dataclass(frozen=True)
class Callbacks:
    """Functions that report progress; each may be left out."""

    start: Callable[[int, int, int], object] = lambda epochs, update, updates: None
    """Before the first update: epochs and updates that an earlier session completed, and updates in all."""
    step: Callable[[int, int, float | None, float], object] = lambda update, updates, loss, rate: None
    """After every update: updates completed, updates in all, the last loss that was read, and learning rate. On any
    device but the CPU the loss is read every 50 updates, and None before."""
    epoch: Callable[[dict[str, Any], bool], object] = lambda row, is_best: None
    """After every epoch: its row of ``metrics.csv`` and whether it is the best so far."""


NO_CALLBACKS = Callbacks()


@freed_memory_is_kept()
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
    padded: bool | None = None,
    measured: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train one model with one seed, or resume its training, and return its results.

    The split ``valid`` selects the best epoch; without graphs in it, the model of the last epoch is taken.
    The files are those of `grpe_dgl.training.run_folder.RunFolder`. If the run is complete already, its results are
    read and nothing is trained.

    Parameters
    ----------
    recipe
        Resolved, without variants.
    data
        The dataset, opened with the recipe's ``max_distance``.
    folder
        Created if it does not exist. If it contains ``last.ckpt``, training resumes from there.
    start
        Replaces the random weights of the new model and returns their provenance, which the checkpoints store. None:
        as the recipe's ``start_from`` says, see `grpe_dgl.checkpoint.start.choose_start`.
    processes
        The processes that train together; the main one writes the files.
    stop
        Checked after every update. On a request a checkpoint is saved and `Stopped` is raised.
    callbacks
        Report progress.
    backend
        See `grpe_dgl.ops.relative_attention`.
    padded
        See `grpe_dgl.training.loop.train`.
    measured
        The splits that the best model is measured on at the end; None: every labelled one.
    about
        Further entries of ``results.json``, which say what the run is a part of.
    """
    recipe = recipe.fit_to_task(data.task)
    if start is None:
        start = choose_start(recipe, data.store).weights
    training = recipe.training
    assert training.metric is not None and training.loss is not None
    files = RunFolder(folder)
    identity = DataIdentity.of(data.store)
    results = files.read_results()
    if results is not None:
        if files.best.exists():
            _require_same_data(load_checkpoint(files.best), identity, files.best, data)
        return results
    folder.mkdir(parents=True, exist_ok=True)
    memory = PeakMemory(processes.device)

    schema = data.schema
    is_molecules = schema.vocabulary == "ogb"
    coverage = Coverage.of(data.store, data.train.index) if is_molecules and processes.is_main else None
    torch.manual_seed(training.seed)  # every process starts from the same weights
    model = build_model(recipe.model, schema, backend=backend)
    provenance = {} if start is None else start(model)
    for name in recipe.model.view.encodings:
        if Encoding.parse(name).kind in DESCRIPTORS:
            values = data.store.encoding(name).values
            assert values is not None
            model.fit_descriptors(torch.from_numpy(np.asarray(values[data.train.index], np.float32)))
    if training.freeze_encoder:
        freeze_encoder(model)
    _require_supported(model, recipe)
    model.checkpoint_layers = training.checkpoint_layers
    model.to(processes.device)
    if training.compile:
        model.compile(dynamic=True)
    average = None if training.weight_average is None else WeightAverage(model, training.weight_average)
    state = State(model, make_optimizer(model, training), average=average)
    seed_everything(training.seed, processes)
    if files.last.exists():
        saved = load_checkpoint(files.last)
        require_same_recipe(recipe, saved.recipe, files.last)
        _require_same_data(saved, identity, files.last, data)
        model.load_state_dict(saved.weights)
        if saved.training is None:
            raise InputError(f"{files.last} cannot be resumed: it holds a finished model")
        provenance = saved.provenance
        try:
            state.load_dict(saved.training, processes)
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            raise InputError(f"{files.last} is damaged: it cannot be resumed ({error})") from None
        state.history = [{**row, "peak_memory_bytes": row.get("peak_memory_bytes")} for row in state.history]
    elif processes.is_main:
        write_text(files.recipe, recipe.to_yaml())

    domain = functools.cache(lambda: TrainingDomain.of(data.store))  # of the models that are used, not resumed

    def save(path: Path, *, resumable: bool) -> None:
        resume = state.to_dict(processes) if resumable else None  # gathered from all processes
        if not processes.is_main:
            return
        row = state.history[-1] if state.history else {}
        metrics = {key: value for key, value in row.items() if not key.startswith(NOT_METRICS)}
        Checkpoint(
            recipe=recipe,
            schema=schema,
            weights=model.state_dict() if resumable else state.evaluated_weights,
            metrics=metrics,
            provenance=provenance,
            training=resume,
            data_identity=identity,
            domain=None if resumable else domain(),
            coverage=coverage,
        ).save(path)

    batches = training_batches(data, training, processes)
    schedule = Schedule.of(training, steps_per_epoch=len(batches))
    callbacks.start(len(state.history), state.update, schedule.last_update)
    saved_at = time.monotonic()

    def after_step(loss: float | None, rate: float) -> None:
        nonlocal saved_at
        callbacks.step(state.update, schedule.last_update, loss, rate)
        asked = stop is not None and stop.asked
        due = processes.is_main and time.monotonic() - saved_at >= SECONDS_BETWEEN_SAVES
        if processes.world_size > 1:  # all processes stop and save after the same update
            if state.losses is not None and state.losses.pending:
                return  # not between two reads of the loss: comparing flags would make a GPU wait for the host
            flags = processes.all_reduce(torch.tensor([float(asked), float(due)]))
            asked, due = bool(flags[0]), bool(flags[1])
        if asked or due:
            save(files.last, resumable=True)
            saved_at = time.monotonic()
        if asked:
            raise Stopped

    for row in train(
        state, data, training, batches, schedule, processes=processes, padded=padded, after_step=after_step
    ):
        row["peak_memory_bytes"] = memory.read()
        is_best = not has_validation(data) or best_epoch(state.history, training.metric) == len(state.history) - 1
        # best.ckpt first: if the process is killed between the two, the epoch is repeated with the same result.
        if is_best or not files.best.exists():
            save(files.best, resumable=False)
        save(files.last, resumable=True)
        saved_at = time.monotonic()
        if processes.is_main:
            write_text(files.metrics, to_csv(state.history))
        callbacks.epoch(row, is_best)
        processes.wait()
    stopped_early = len(state.history) < schedule.epochs
    division = training_division(model, training, processes.device, padded)
    results = _finish(recipe, data, files, state, processes, division, memory, measured)
    if stopped_early and schedule.has_ended(state.history):
        results["minimum_learning_rate_reached"] = True
    results |= {"stopped_early": stopped_early, "data": _describe_data(data, identity), **(about or {})}
    if processes.is_main:
        files.write_results(results)
    processes.wait()
    return results


def _require_supported(model: GraphModel, recipe: Recipe) -> None:
    """Raise if the recipe asks for a way to compute that the model's family does not have."""
    for key, supported, accepted in (
        ("checkpoint_layers", model.checkpoints_layers, "false"),
        ("compile", model.takes_padded, "false"),
        ("flag", model.node_embedding is not None, "null"),
        ("weight_penalty", model.weight_norm() is not None, "0"),
    ):
        value = getattr(recipe.training, key)
        if value and not supported:
            found = {True: "true"}.get(value, "given" if key == "flag" else value)
            raise InputError(
                f"training.{key} is {found}, which models of the family {recipe.model.NAME} do not support; "
                f"accepted: {accepted}"
            )


def _require_same_data(saved: Checkpoint, identity: DataIdentity, path: Path, data: Dataset) -> None:
    """Raise if a run's checkpoint records other data; those written before that was recorded pass."""
    if saved.data_identity is not None:
        saved.data_identity.require_same(identity, what=str(path), data=str(data.store.path))


def _finish(
    recipe: Recipe,
    data: Dataset,
    files: RunFolder,
    state: State,
    processes: Processes,
    division: Division,
    memory: PeakMemory,
    measured: Sequence[str] | None,
) -> dict[str, Any]:
    """Evaluate the best model on every labelled split, or those `measured`, write predictions and curves.

    Returns the results.
    """
    training = recipe.training
    assert training.metric is not None and training.loss is not None
    processes.wait()
    best = load_checkpoint(files.best)
    state.model.load_state_dict(best.weights)
    index = best_epoch(state.history, training.metric) if has_validation(data) else len(state.history) - 1
    found: dict[str, torch.Tensor] = {}
    kept: dict[str, Predictions] = {}
    for name, split in data.splits.items():
        if (measured is not None and name not in measured) or not len(split) or not is_labelled(split):
            continue
        found[name] = predict_split(
            state.model,
            split,
            best.schema,
            batch_size=training.batch_size,
            processes=processes,
            precision=training.precision,
            division=division,
        )
        if name in SPLITS and processes.is_main:
            kept[name] = Predictions.of(split, found[name])
            kept[name].write(files.predictions(name))
    thresholds = None
    if data.task.kind == "binary" and data.task.level == "graph" and "valid" in found:
        thresholds = choose_thresholds(found["valid"], data.valid.labels(), training.metric)
        if processes.is_main:
            dataclasses.replace(best, thresholds=thresholds).save(files.best)
    splits = {}
    for name, predictions in found.items():
        split = data.splits[name]
        shifted = shift_to_thresholds(training.metric, predictions, thresholds)
        splits[name] = measure(training.metric, shifted, split.labels(), batch_of_rows(split, training.batch_size))
    if processes.is_main:
        title = f"{best.schema.name}, seed {training.seed}"
        draw_curves(state.history, metric=training.metric, loss=training.loss, title=title, path=files.curves)
        if kept:
            shown = "test" if "test" in kept else "valid"
            draw_predictions(kept[shown], data.task, split=shown, title=title, path=files.predictions_plot)
    seconds = seconds_by_part(state.history)
    peaks = [memory.read(), *(row["peak_memory_bytes"] or 0 for row in state.history)]  # of earlier sessions too
    return {
        "dataset": best.schema.name,
        "seed": training.seed,
        "metric": training.metric,
        "best_epoch": None if index is None else state.history[index]["epoch"],
        "epochs": len(state.history),
        "updates": state.update,
        "splits": splits,
        **({} if thresholds is None else {"thresholds": dict(zip(data.task.targets, thresholds, strict=True))}),
        "model": {"name": recipe.model.NAME, "description": recipe.model.describe()},
        "parameters": sum(parameter.numel() for parameter in state.model.parameters()),
        "seconds": sum(seconds.values()),
        "seconds_per_epoch": sum(seconds.values()) / len(state.history),
        "seconds_by_part": seconds,
        "peak_memory_bytes": max(int(peak) for peak in processes.gather(torch.tensor([max(peaks)]))),
        "peak_memory": {"of": memory.of, "since": memory.since},
        "hardware": hardware(processes),
        "versions": versions(),
    }


def _describe_data(data: Dataset, identity: DataIdentity) -> dict[str, Any]:
    """Return which data a run was trained on: hashes, sizes and task, as plain values."""
    return {
        "folder": str(data.store.path.resolve()),
        "arrays": dict(identity.arrays),
        "graphs": {name: len(split) for name, split in data.splits.items()},
        "task": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(data.task).items()
        },
    }
