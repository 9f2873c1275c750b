"""The state of a run: everything that changes during training and is needed to resume it exactly."""

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.weight_average import WeightAverage

if TYPE_CHECKING:
    from grpe_dgl.training.loss_window import LossWindow


@dataclass
class Sums:
    """Sums over the updates of an epoch."""

    loss: float = 0.0
    """Sum over updates of the loss times its normaliser."""
    weight: float = 0.0
    """Sum of the normalisers."""
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("assembly", "forward", "backward", "optimiser", "bookkeeping"), 0.0)
    )


@dataclass
class State:
    """A run in progress."""

    model: GraphModel
    optimizer: torch.optim.Optimizer
    update: int = 0
    """Updates made so far."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """A row for every completed epoch; see `grpe_dgl.training.history`."""
    sums: Sums = field(default_factory=Sums)
    """Sums of the current epoch."""
    losses: "LossWindow | None" = None
    """Losses that are still on the device; `to_dict` reads them."""
    average: WeightAverage | None = None
    """The average of the weights, with ``training.weight_average``."""

    @property
    def evaluated_weights(self) -> dict[str, torch.Tensor]:
        """The weights that are evaluated and used: the average, if there is one, or the model's."""
        return self.model.state_dict() if self.average is None else self.average.weights()

    def evaluated(self) -> AbstractContextManager[None]:
        """Return the context in which the model has `evaluated_weights`."""
        return contextlib.nullcontext() if self.average is None else self.average.applied()

    def to_dict(self, processes: Processes) -> dict[str, Any]:
        """Return everything but the weights as tensors and plain values; all processes must call this together.

        Raises a `grpe_dgl.training.loss_window.DivergedError` if a loss that was not read yet is not finite.
        """
        if self.losses is not None:
            self.losses.read(self.sums)
        random = processes.gather(_random_state(processes.device).unsqueeze(0))
        return {
            "optimizer": self.optimizer.state_dict(),
            "update": self.update,
            "history": self.history,
            "sums": {"loss": self.sums.loss, "weight": self.sums.weight, "seconds": self.sums.seconds},
            "random": [row[0] for row in random],
            **({} if self.average is None else {"average": self.average.values}),
        }

    def load_dict(self, saved: dict[str, Any], processes: Processes) -> None:
        """Load what `to_dict` returned.

        The random states are loaded only if the number of processes is the same as when they were saved.
        """
        self.optimizer.load_state_dict(saved["optimizer"])
        self.update = saved["update"]
        self.history = saved["history"]
        self.sums = Sums(**saved["sums"])
        if self.average is not None:
            self.average.load(saved["average"])
        if len(saved["random"]) == processes.world_size:
            _set_random_state(saved["random"][processes.rank], processes.device)


def make_optimizer(model: GraphModel, training: TrainingRecipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser over the parameters that are trained."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW if training.optimizer == "adamw" else torch.optim.Adam
    # On the CPU one fused kernel takes a quarter of the time; a state without it, of an older run, resumes without.
    fused = all(parameter.device.type == "cpu" for parameter in parameters) or None
    return optimizer(parameters, lr=training.learning_rate, weight_decay=training.weight_decay, fused=fused)


def seed_everything(seed: int, processes: Processes) -> None:
    """Seed dropout and noise, with another seed on every process; `torch.manual_seed` seeds CUDA too."""
    torch.manual_seed(seed if processes.rank == 0 else (seed + 1) * 1_000_003 + processes.rank)


def _random_state(device: torch.device) -> torch.Tensor:
    """Return the states of the random generators as bytes: the CPU's, followed by the GPU's."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return torch.cat(states)


def _set_random_state(state: torch.Tensor, device: torch.device) -> None:
    length = len(torch.get_rng_state())
    torch.set_rng_state(state[:length])
    if device.type == "cuda" and len(state) > length:
        torch.cuda.set_rng_state(state[length:], device)
