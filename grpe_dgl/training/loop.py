"""The training loop: a function that yields epochs."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from grpe_dgl.checkpoint.target_units import standardise
from grpe_dgl.data.batching.collate import Batch
from grpe_dgl.data.dataset import Batches, Dataset
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.schema import Schema
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import autocast, batch_of_rows, measure, predict_split
from grpe_dgl.training.history import early_stopping_is_due
from grpe_dgl.training.losses import LOSS_FUNCTIONS
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, Sums


class DivergedError(InputError):
    """The loss is not a finite number any more."""


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
    after_step: Callable[[float, float], object] | None = None,
) -> Iterator[dict[str, Any]]:
    """Train from `state` until the schedule ends or early stopping is due; yield a row of history per epoch.

    Parameters
    ----------
    state
        Where to start. It is updated in place, within an epoch too, so that saving it at any update allows an exact
        resume.
    data
        The dataset, for its description and the split ``valid``.
    training
        Resolved: loss and metric are given.
    batches
        From `training_batches`.
    schedule
        Made for that number of batches per epoch.
    processes
        The processes that train together.
    after_step
        Called after every update with its loss and learning rate. An exception it raises ends training between two
        updates.
    """
    assert training.loss is not None and training.metric is not None
    schema = data.schema
    model: torch.nn.Module = state.model
    if processes.world_size > 1:
        model = DistributedDataParallel(state.model)
    valid_labels = data.valid.labels()
    valid_batches = batch_of_rows(data.valid, training.batch_size)

    while len(state.history) < schedule.epochs and not early_stopping_is_due(state.history, training):
        epoch = len(state.history)
        first_update = state.history[-1]["updates"] if state.history else 0
        clock = _Clock(state.sums.seconds)
        state.model.train()
        for batch in batches.epoch(epoch, start=state.update - first_update):
            if state.update == schedule.last_update:
                break
            clock.lap("assembly")
            rate = schedule.at(state.update)
            loss = _step(model, state, batch, schema, training, rate, processes, clock)
            state.update += 1
            clock.lap("bookkeeping")
            if after_step is not None:
                after_step(loss, rate)
                clock.lap("bookkeeping")
        row = _row(state, epoch, schedule, training.metric)
        if (epoch + 1) % training.evaluate_every == 0 or epoch + 1 == schedule.epochs:
            begin = time.perf_counter()
            predictions = predict_split(
                state.model,
                data.valid,
                schema,
                batch_size=training.batch_size,
                processes=processes,
                precision=training.precision,
            )
            row[f"valid_{training.metric}"] = measure(training.metric, predictions, valid_labels, valid_batches)
            row["seconds_evaluation"] = time.perf_counter() - begin
        state.history = [*state.history, row]
        state.sums = Sums()
        yield row


def _step(
    model: torch.nn.Module,
    state: State,
    batch: Batch,
    schema: Schema,
    training: TrainingRecipe,
    rate: float,
    processes: Processes,
    clock: "_Clock",
) -> float:
    """Make one update and return the loss of the whole batch, over all processes."""
    assert training.loss is not None
    batch = batch.to(processes.device)
    with autocast(training.precision, processes.device):
        outputs = model(batch.graph)
    label = standardise(batch.label, schema)
    all_reduce = processes.all_reduce if processes.world_size > 1 else None
    terms = LOSS_FUNCTIONS[training.loss](outputs, label, all_reduce)
    clock.lap("forward")
    state.optimizer.zero_grad(set_to_none=True)
    # DistributedDataParallel averages gradients over processes; times their number that is the gradient of the sum.
    (processes.world_size * terms.sum / terms.normaliser).backward()
    clock.lap("backward")
    loss = float(processes.all_reduce(terms.sum.detach().double()) / terms.normaliser)
    if not math.isfinite(loss):
        _diverged(loss, terms.sum, batch, state.update, processes)
    if training.clip is not None:
        torch.nn.utils.clip_grad_norm_(state.model.parameters(), training.clip)
    for group in state.optimizer.param_groups:
        group["lr"] = rate
    state.optimizer.step()
    clock.lap("optimiser")
    weight = float(terms.normaliser)
    state.sums.loss += loss * weight
    state.sums.weight += weight
    return loss


def _diverged(loss: float, summed: Tensor, batch: Batch, update: int, processes: Processes) -> None:
    """Raise an error that names the graphs of the batch, of those processes only whose sum is not finite."""
    own = batch.indices.cpu() if not torch.isfinite(summed) else batch.indices.cpu()[:0]
    indices = torch.cat(processes.gather(own)).tolist()
    raise DivergedError(
        f"the loss is {loss} at update {update}; the batch's graphs have the dataset indices {indices}. "
        "Try a smaller training.learning_rate, or training.clip"
    )


def _row(state: State, epoch: int, schedule: Schedule, metric: str) -> dict[str, Any]:
    """Return an epoch's row of history; the two columns of the evaluation are filled in later."""
    return {
        "epoch": epoch + 1,
        "updates": state.update,
        "learning_rate": schedule.at(state.update - 1),
        "train_loss": state.sums.loss / state.sums.weight if state.sums.weight else None,
        f"valid_{metric}": None,
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
