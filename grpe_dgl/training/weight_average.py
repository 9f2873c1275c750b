"""An exponential moving average of the weights, which is evaluated and saved in place of the last ones."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class WeightAverage:
    """The average of a model's weights over its updates.

    After update ``u`` (1, 2, ...) the average moves towards the weights by ``1 - min(decay, (1 + u) / (10 + u))``, so
    that the first, random weights are soon forgotten. Floating-point buffers, such as the statistics of batch
    normalisation, are averaged too.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._model = model
        # Found once, as they share their memory with the model: a state_dict at every update takes time.
        self._weights = {name: value for name, value in model.state_dict().items() if value.is_floating_point()}
        self.values = {name: value.clone() for name, value in self._weights.items()}

    def update(self, updates: int) -> None:
        """Move the average towards the model's weights after `updates` updates in all."""
        weight = 1 - min(self.decay, (1 + updates) / (10 + updates))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.values.values()), list(self._weights.values()), weight)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the average as its weights within the context."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def weights(self) -> dict[str, Tensor]:
        """Return a copy of the model's state_dict with the averages in it."""
        return {name: self.values.get(name, value).clone() for name, value in self._model.state_dict().items()}

    def load(self, values: dict[str, Tensor]) -> None:
        """Take saved averages; a name or a shape that differs raises a LookupError or a RuntimeError."""
        if values.keys() != self.values.keys():
            raise LookupError("the averaged weights are those of another model")
        for name, value in self.values.items():
            value.copy_(values[name])

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, value in self._weights.items():
            own = value.clone()
            value.copy_(self.values[name])
            self.values[name].copy_(own)
