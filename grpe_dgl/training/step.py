"""One update: the gradients of a batch, added up over its parts, clipped and applied."""

import contextlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from grpe_dgl.checkpoint.target_units import standardise
from grpe_dgl.data.batching.parts import Division, Part, Parts, collate_parts
from grpe_dgl.data.dataset import Batches
from grpe_dgl.models.model import GraphModel
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.schema import Schema
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.flag import Perturbation
from grpe_dgl.training.label_weights import LabelWeights
from grpe_dgl.training.losses import LOSS_FUNCTIONS, label_counts
from grpe_dgl.training.precision import autocast
from grpe_dgl.training.prefetch import Transfer, prefetch


class StepBatch(NamedTuple):
    """A batch with all that an update needs of it."""

    parts: list[Part]
    """Labels as the model sees them, standardised."""
    counts: Tensor
    """`grpe_dgl.training.losses.label_counts` of the whole batch, of this process."""
    indices: Tensor
    """(B,) on the CPU: the graphs' numbers in the dataset."""

    @classmethod
    def of(cls, batch: Parts, schema: Schema, loss: str, weights: LabelWeights | None = None) -> Self:
        """Prepare a batch on the CPU, where reading a label costs no synchronisation."""
        parts = [
            part._replace(
                label=standardise(part.label, schema),
                weight=None if weights is None else weights(part.label, batch.indices[part.places]),
            )
            for part in batch.parts
        ]
        counts = sum(label_counts(loss, part.label, schema.task.num_outputs, part.weight) for part in parts)
        assert isinstance(counts, Tensor)
        return cls(parts, counts, batch.indices)


def training_division(
    model: GraphModel, training: TrainingRecipe, device: torch.device, padded: bool | None = None
) -> Division:
    """Return how the batches of a run are divided; `padded` as in `grpe_dgl.training.loop.train`."""
    return Division.on(
        device,
        takes_padded=model.takes_padded,
        in_one_piece=model.uses_batch_statistics,
        micro_batch_size=training.micro_batch_size,
        padded=training.compile or None if padded is None else padded,
    )


def step_batches(
    batches: Batches,
    epoch: int,
    start: int,
    division: Division,
    schema: Schema,
    loss: str,
    device: torch.device,
    weights: LabelWeights | None = None,
) -> Generator[StepBatch, None, None]:
    """Yield an epoch's batches on `device`, from batch `start` on.

    For any device but the CPU they are assembled and copied by a background thread, two batches ahead. Which graphs
    are in a batch follows from the epoch and its number, so being ahead changes no number.
    """
    store, view = batches.split.dataset.store, batches.view
    on_cpu = (
        StepBatch.of(collate_parts(store, index, view, division), schema, loss, weights)
        for index in batches.indices(epoch, start)
    )
    if device.type == "cpu":
        yield from on_cpu
        return
    transfer = Transfer(device)
    sent = ((transfer.pinned(batch.counts), batch.indices, transfer.send(batch.parts)) for batch in on_cpu)
    with contextlib.closing(prefetch(sent)) as ahead:
        for counts, indices, parts in ahead:
            yield StepBatch(transfer.receive(parts), counts, indices)


def compute_gradients(
    model: torch.nn.Module,
    batch: StepBatch,
    training: TrainingRecipe,
    processes: Processes,
    lap: Callable[[str], object] = lambda part: None,
    *,
    update: int = 0,
    rate: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Add the gradients of a batch's loss to the parameters'; return this process's sum and the global normaliser.

    The parts share the normaliser of the whole batch, so that their gradients add up to those of one piece. With
    several processes gradients are exchanged once, with the last part's. With ``training.flag`` the sum is the mean of
    its steps; ``training.weight_penalty`` is not part of the sum.

    Parameters
    ----------
    model
        A `GraphModel`, or one in DistributedDataParallel.
    batch
        This process's share.
    training
        Resolved: the loss is given.
    processes
        The processes that train together.
    lap
        Called with ``"forward"`` and ``"backward"`` after each.
    update
        The number of the update, for FLAG's random numbers.
    rate
        The learning rate of the update, for the weight penalty.
    """
    assert training.loss is not None
    inner = model.module if isinstance(model, DistributedDataParallel) else model
    assert isinstance(inner, GraphModel)
    counts = processes.all_reduce(batch.counts.to(processes.device, non_blocking=True))
    steps = 1 if training.flag is None else training.flag.steps
    total: Tensor | None = None
    for number, part in enumerate(batch.parts):
        perturbation = None
        if training.flag is not None:
            indices, step_size = batch.indices[part.places], training.flag.step_size
            perturbation = Perturbation(part.graph, indices, step_size=step_size, seed=training.seed, update=update)
        for step in range(steps):
            last = number == len(batch.parts) - 1 and step == steps - 1
            with contextlib.nullcontext() if last else _unsynchronised(model):
                perturbed = contextlib.nullcontext() if perturbation is None else perturbation.applied(inner)
                with perturbed, autocast(training.precision, processes.device):
                    outputs = model(part.graph)
                label, weight = part.label, part.weight
                if isinstance(part.graph, PaddedBatch) and outputs.dim() == 3:  # a node task
                    outputs, label = outputs.flatten(0, 1), label.flatten(0, 1)
                    weight = None if weight is None else weight.flatten(0, 1)
                terms = LOSS_FUNCTIONS[training.loss](outputs, label, None, counts, weight)
                # DistributedDataParallel averages over processes; times their number that is the gradient of the sum.
                loss = processes.world_size * terms.sum / terms.normaliser / steps
                if last and training.weight_penalty:
                    penalty = inner.weight_norm()
                    assert penalty is not None  # run() refuses models without one
                    loss = loss + training.weight_penalty * rate * penalty
                lap("forward")
                loss.backward()
                lap("backward")
            if perturbation is not None and step < steps - 1:
                perturbation.ascend()
            summed = terms.sum.detach().double() / steps
            total = summed if total is None else total + summed
    assert total is not None
    return total, terms.normaliser


def _unsynchronised(model: torch.nn.Module) -> AbstractContextManager[None]:
    """Return the context in which gradients stay in this process."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else contextlib.nullcontext()


def apply_gradients(optimizer: torch.optim.Optimizer, training: TrainingRecipe, rate: float) -> None:
    """Clip the gradients and make the update; the norm is not read, so no device waits for the host."""
    if training.clip is not None:
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        torch.nn.utils.clip_grad_norm_(trained, training.clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
