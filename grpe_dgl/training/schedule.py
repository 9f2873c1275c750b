"""The learning rate: linear warm-up, then linear decay."""

import math
from dataclasses import dataclass
from typing import Self

from grpe_dgl.errors import InputError
from grpe_dgl.recipe.training import TrainingRecipe


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The learning rate of every update: a pure function of its number, so a checkpoint stores no scheduler state."""

    learning_rate: float
    """The peak."""
    final_learning_rate: float
    warmup_updates: int
    updates: int
    """Length of the whole schedule."""
    last_update: int
    """The number of updates to make: `updates`, or fewer if ``stop_after_epochs`` ends training before."""
    steps_per_epoch: int

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
        return cls(
            learning_rate=training.learning_rate,
            final_learning_rate=training.final_learning_rate,
            warmup_updates=warmup_updates,
            updates=updates,
            last_update=updates if stop is None else min(updates, stop * steps_per_epoch),
            steps_per_epoch=steps_per_epoch,
        )

    @property
    def epochs(self) -> int:
        """The number of epochs that are started; `last_update` may end the last one early."""
        return math.ceil(self.last_update / self.steps_per_epoch)

    def at(self, update: int) -> float:
        r"""Return the rate of an update, counted from 0.

        With s = update + 1, W = `warmup_updates` and U = `updates`, as in the authors' code::

            peak s / W                                     s <= W
            final + (peak - final) (1 - (s - W) / (U - W))   W < s < U
            final                                          s >= U
        """
        step = update + 1
        if step <= self.warmup_updates:
            return self.learning_rate * step / self.warmup_updates
        if step >= self.updates:
            return self.final_learning_rate
        remaining = 1 - (step - self.warmup_updates) / (self.updates - self.warmup_updates)
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * remaining
