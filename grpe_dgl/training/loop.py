"""The training loop: a function that yields epochs."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from grpe_dgl.data.dataset import Batches, Dataset
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import batch_of_rows, has_validation, measure, predict_split, split_loss
from grpe_dgl.training.history import early_stopping_is_due
from grpe_dgl.training.label_weights import LabelWeights
from grpe_dgl.training.loss_window import LossWindow
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, Sums
from grpe_dgl.training.step import apply_gradients, compute_gradients, step_batches, training_division


def training_batches(data: Dataset, training: TrainingRecipe, processes: Processes = SINGLE) -> Batches:
    """Return the shuffled batches of the split ``train``; their number is the number of updates per epoch.

    With several processes a last batch of fewer graphs than processes is left out.
    """
    return data.train.batches(
        batch_size=training.batch_size,
        shuffle=True,
        seed=training.seed,
        rank=processes.rank,
        world_size=processes.world_size,
    )


def train(
    state: State,
    data: Dataset,
    training: TrainingRecipe,
    batches: Batches,
    schedule: Schedule,
    *,
    processes: Processes = SINGLE,
    padded: bool | None = None,
    after_step: Callable[[float | None, float], object] | None = None,
) -> Iterator[dict[str, Any]]:
    """Train from `state` until the schedule ends or early stopping is due; yield a row of history per epoch.

    Parameters
    ----------
    state
        Where to start. It is updated in place, within an epoch too, so that saving it at any update allows an exact
        resume.
    data
        The dataset, for its description and the split ``valid``; without graphs in that split no epoch is evaluated.
    training
        Resolved: loss and metric are given.
    batches
        From `training_batches`.
    schedule
        Made for that number of batches per epoch.
    processes
        The processes that train together.
    padded
        Whether the model gets padded batches; None: on any device but the CPU, and where ``training.compile`` asks.
    after_step
        Called after every update with its loss and learning rate. An exception it raises ends training between two
        updates. On any device but the CPU the loss is read every 50 updates: in between it is that of the last one
        read, None before the first.
    """
    assert training.loss is not None and training.metric is not None
    schema = data.schema
    model: torch.nn.Module = state.model
    if processes.world_size > 1:
        device_ids = [processes.device] if processes.device.type == "cuda" else None
        model = DistributedDataParallel(state.model, device_ids=device_ids)
    division = training_division(state.model, training, processes.device, padded)
    losses = state.losses = LossWindow(processes)
    weights = LabelWeights.of(data, training)
    validated = has_validation(data)
    if validated:
        valid_labels = data.valid.labels()
        valid_batches = batch_of_rows(data.valid, training.batch_size)
    elif schedule.kind == "plateau":
        raise InputError(
            f"training.schedule is plateau, which follows the validation loss, and {data.store.path} has no graphs in "
            "the split valid; accepted: linear, cosine, constant"
        )

    while not schedule.has_ended(state.history) and not early_stopping_is_due(state.history, training):
        current = schedule.after(state.history)
        epoch = len(state.history)
        first_update = state.history[-1]["updates"] if state.history else 0
        clock = _Clock(state.sums.seconds)
        state.model.train()
        done = state.update - first_update
        epoch_batches = step_batches(batches, epoch, done, division, schema, training.loss, processes.device, weights)
        with contextlib.closing(epoch_batches):
            for batch in epoch_batches:
                if state.update == schedule.last_update:
                    break
                clock.lap("assembly")
                rate = current.at(state.update)
                state.optimizer.zero_grad(set_to_none=True)
                own, normaliser = compute_gradients(
                    model, batch, training, processes, clock.lap, update=state.update, rate=rate
                )
                losses.add(state.update, own, processes.all_reduce(own), normaliser, batch.indices)
                if losses.pending == losses.capacity:
                    losses.read(state.sums)
                apply_gradients(state.optimizer, training, rate)
                state.update += 1
                if state.average is not None:
                    state.average.update(state.update)
                clock.lap("optimiser")
                if after_step is not None:
                    after_step(losses.last, rate)
                clock.lap("bookkeeping")
        losses.read(state.sums)
        row = _row(state, epoch, current, training.metric)
        if validated and ((epoch + 1) % training.evaluate_every == 0 or epoch + 1 == schedule.epochs):
            begin = time.perf_counter()
            with state.evaluated():
                predictions = predict_split(
                    state.model,
                    data.valid,
                    schema,
                    batch_size=training.batch_size,
                    processes=processes,
                    precision=training.precision,
                    division=division,
                )
            row[f"valid_{training.metric}"] = measure(training.metric, predictions, valid_labels, valid_batches)
            if schedule.kind == "plateau":
                row["valid_loss"] = split_loss(training.loss, predictions, valid_labels, schema)
            row["seconds_evaluation"] = time.perf_counter() - begin
        state.history = [*state.history, row]
        state.sums = Sums()
        yield row


def _row(state: State, epoch: int, schedule: Schedule, metric: str) -> dict[str, Any]:
    """Return an epoch's row of history; the columns of the evaluation are filled in later."""
    return {
        "epoch": epoch + 1,
        "updates": state.update,
        "learning_rate": schedule.at(state.update - 1),
        "train_loss": state.sums.loss / state.sums.weight if state.sums.weight else None,
        f"valid_{metric}": None,
        **({"valid_loss": None} if schedule.kind == "plateau" else {}),
        **{f"seconds_{part}": seconds for part, seconds in state.sums.seconds.items()},
        "seconds_evaluation": 0.0,
    }


class _Clock:
    """Adds up the seconds of each part; on a GPU, a kernel counts for the part that waits for its result."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Add the time since the last call to `part`."""
        now = time.perf_counter()
        self._seconds[part] += now - self._last
        self._last = now
