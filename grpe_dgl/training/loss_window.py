"""The losses of the updates since the host last read them: on a GPU, reading one waits for all that was launched."""

import math

import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.state import Sums

UPDATES_BETWEEN_READS = 50


class DivergedError(InputError):
    """The loss is not a finite number any more."""


class LossWindow:
    """Losses that stay on the device until they are read: every one on the CPU, 50 at once elsewhere.

    Read late, they are still added up one by one in order, so that when they are read changes no number.

    Parameters
    ----------
    processes
        The processes that train together; all of them read at the same updates.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.capacity = 1 if processes.device.type == "cpu" else UPDATES_BETWEEN_READS
        # Per update: this process's part of the sum, the sum over processes, and the normaliser.
        self._rows = torch.zeros(self.capacity, 3, dtype=torch.float64, device=processes.device)
        self._batches: list[tuple[int, Tensor]] = []
        self.last: float | None = None
        """The loss of the last update that was read; None before the first."""

    @property
    def pending(self) -> int:
        """How many updates were not read yet."""
        return len(self._batches)

    def add(self, update: int, own: Tensor, total: Tensor, normaliser: Tensor, indices: Tensor) -> None:
        """Store an update's terms, of shape () each, and which graphs it saw; nothing is read."""
        self._rows[len(self._batches)] = torch.stack([own.double(), total.double(), normaliser.double()])
        self._batches.append((update, indices))

    def read(self, sums: Sums) -> None:
        """Wait for the device, add what is pending to `sums`, and raise a DivergedError if a loss is not finite."""
        if not self._batches:
            return
        batches, self._batches = self._batches, []
        if self._rows.is_meta:  # there are no numbers; a run on this device measures memory and operations
            self.last = math.nan
            return
        for (update, indices), (own, total, weight) in zip(batches, self._rows.tolist(), strict=False):
            loss = total / weight
            if not math.isfinite(loss):
                self._diverged(loss, update, indices if not math.isfinite(own) else indices[:0])
            sums.loss += loss * weight
            sums.weight += weight
            self.last = loss

    def _diverged(self, loss: float, update: int, own: Tensor) -> None:
        """Raise an error that names the graphs of the batch, of those processes only whose sum is not finite."""
        indices = torch.cat(self._processes.gather(own)).tolist()
        raise DivergedError(
            f"the loss is {loss} at update {update}; the batch's graphs have the dataset indices {indices}. "
            "Try a smaller training.learning_rate, or training.clip"
        )
