"""The learning rate: linear warm-up, then linear or cosine decay, a constant, or reductions on a plateau."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from grpe_dgl.errors import InputError
from grpe_dgl.recipe.training import ScheduleName, TrainingRecipe

FACTOR = 0.5
PATIENCE = 10
THRESHOLD = 1e-4  # how much smaller, relatively, a loss must be than the best so far to count as better
SMALLEST_CHANGE = 1e-8  # a reduction by less than this is not made


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The learning rate of every update, a function of its number and of the validation losses before it.

    Both are in a checkpoint, so no further state has to be saved: a plateau schedule reads the losses in the history.
    """

    kind: ScheduleName = "linear"
    learning_rate: float
    """The peak; of a plateau schedule the rate of the present epoch, see `after`."""
    final_learning_rate: float
    warmup_updates: int
    updates: int
    """Length of the whole schedule."""
    last_update: int
    """The number of updates to make: `updates`, or fewer if ``stop_after_epochs`` ends training before."""
    steps_per_epoch: int
    plateau_factor: float = FACTOR
    plateau_patience: int = PATIENCE
    minimum_learning_rate: float | None = None

    @classmethod
    def of(cls, training: TrainingRecipe, steps_per_epoch: int) -> Self:
        """Convert a recipe's epochs to updates, given the number of batches per epoch."""
        if steps_per_epoch < 1:
            raise InputError("the training split makes no batch; accepted: at least one graph per process")
        updates = training.updates if training.epochs is None else training.epochs * steps_per_epoch
        assert updates is not None  # the recipe has one of the two
        warmup_updates = training.warmup_updates or (training.warmup_epochs or 0) * steps_per_epoch
        if warmup_updates and warmup_updates >= updates:
            raise InputError(
                f"the warm-up is {warmup_updates} updates of {updates}, with {steps_per_epoch} updates per epoch; "
                "accepted: training.warmup_epochs or training.warmup_updates shorter than the schedule"
            )
        stop = training.stop_after_epochs
        factor, patience = training.plateau_factor, training.plateau_patience
        return cls(
            kind=training.schedule,
            learning_rate=training.learning_rate,
            final_learning_rate=training.final_learning_rate,
            warmup_updates=warmup_updates,
            updates=updates,
            last_update=updates if stop is None else min(updates, stop * steps_per_epoch),
            steps_per_epoch=steps_per_epoch,
            plateau_factor=FACTOR if factor is None else factor,
            plateau_patience=PATIENCE if patience is None else patience,
            minimum_learning_rate=training.minimum_learning_rate,
        )

    @property
    def epochs(self) -> int:
        """The number of epochs that are started; `last_update` may end the last one early."""
        return math.ceil(self.last_update / self.steps_per_epoch)

    def after(self, history: Sequence[dict[str, Any]]) -> Self:
        """Return the schedule of the next epoch: that of a plateau with the rate that the losses so far lead to."""
        if self.kind != "plateau":
            return self
        losses = (row["valid_loss"] for row in history)
        rate = reduced_on_plateau(self.learning_rate, losses, self.plateau_factor, self.plateau_patience)
        return dataclasses.replace(self, learning_rate=rate)

    def has_ended(self, history: Sequence[dict[str, Any]]) -> bool:
        """Whether all epochs are done, or the rate of a plateau schedule has fallen below its minimum."""
        if len(history) >= self.epochs:
            return True
        minimum = self.minimum_learning_rate
        return minimum is not None and self.after(history).learning_rate < minimum

    def at(self, update: int) -> float:
        r"""Return the rate of an update, counted from 0; of a plateau schedule, that of the present epoch.

        With s = update + 1, W = `warmup_updates`, U = `updates` and, after the warm-up, t = (s - W) / (U - W), at most
        1, linear as in the authors' code::

            peak s / W                                     s <= W
            final + (peak - final) (1 - t)                 linear
            final + (peak - final) (1 + cos(pi t)) / 2     cosine
            peak                                           constant
        """
        step = update + 1
        if step <= self.warmup_updates:
            return self.learning_rate * step / self.warmup_updates
        if self.kind in ("constant", "plateau"):
            return self.learning_rate
        if step >= self.updates:
            return self.final_learning_rate
        remaining = 1 - (step - self.warmup_updates) / (self.updates - self.warmup_updates)
        if self.kind == "cosine":
            remaining = (1 + math.cos(math.pi * (1 - remaining))) / 2
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * remaining


def reduced_on_plateau(rate: float, losses: Iterable[float], factor: float, patience: int) -> float:
    """Return the rate after some epochs, as `torch.optim.lr_scheduler.ReduceLROnPlateau` computes it.

    After `patience` + 1 epochs in a row without a loss smaller than the best one times (1 - 1e-4), the rate is
    multiplied with `factor`, and counting begins anew.

    Parameters
    ----------
    rate
        That of the first epoch.
    losses
        The validation loss of every epoch.
    factor, patience
        ``training.plateau_factor`` and ``training.plateau_patience``.
    """
    best, bad_epochs = math.inf, 0
    for loss in losses:
        if loss < best * (1 - THRESHOLD):
            best, bad_epochs = loss, 0
        else:
            bad_epochs += 1
        if bad_epochs > patience:
            bad_epochs = 0
            if rate - rate * factor > SMALLEST_CHANGE:
                rate *= factor
    return rate
