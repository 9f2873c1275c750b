"""Several processes that train one model: rank and number of processes, sums and gathers over them."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from grpe_dgl.errors import InputError

GLOO = "gloo/transport"
"""In the message of gloo's errors, which have no class of their own."""


@dataclass(frozen=True)
class Processes:
    """One of the `world_size` processes that ``torchrun`` started; if it is the only one, no method communicates."""

    rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")

    @property
    def is_main(self) -> bool:
        """Whether this is the one process that writes files and prints."""
        return self.rank == 0

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes."""
        if self.world_size == 1:
            return tensor
        total = tensor.detach().clone().to(self.device)
        dist.all_reduce(total)
        return total.to(tensor.device)

    def gather(self, rows: Tensor) -> list[Tensor]:
        """Return every process's rows, (n_r, ...) each, which may differ in n_r."""
        if self.world_size == 1:
            return [rows]
        rows = rows.to(self.device)
        counts = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in range(self.world_size)]
        dist.all_gather(counts, torch.tensor([len(rows)], device=self.device))
        longest = max(int(count) for count in counts)
        padded = rows.new_zeros(longest, *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in range(self.world_size)]
        dist.all_gather(parts, padded)
        return [part[: int(count)].cpu() for part, count in zip(parts, counts, strict=True)]

    def wait(self) -> None:
        """Return when every process has called this."""
        if self.world_size > 1:
            dist.barrier()


SINGLE = Processes()
"""The only process, on the CPU."""


def device_of_process(device: torch.device, *, local_rank: int, count: int) -> torch.device:
    """Return the GPU of one of several processes on a machine: that of its local rank, so that each has its own.

    Parameters
    ----------
    device
        What was asked for: ``cuda``, without a number.
    local_rank
        The process's number on its machine.
    count
        How many GPUs the machine has.
    """
    if device.index is not None:
        raise InputError(
            f"the device is {device} for several processes; accepted: cuda, of which each process takes the GPU of its "
            "number, or CUDA_VISIBLE_DEVICES to choose among them"
        )
    if local_rank >= count:
        raise InputError(
            f"process {local_rank} of this machine has no GPU of its own: there are {count} GPUs; accepted: one "
            "process a GPU"
        )
    return torch.device(device.type, local_rank)


@contextlib.contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Join the process group that ``torchrun`` started; without ``torchrun``, this is the only process.

    On CUDA each process takes the GPU of its local rank and the backend is nccl; elsewhere it is gloo.
    """
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size == 1:
        yield Processes(device=device)
        return
    if device.type == "cuda":
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        device = device_of_process(device, local_rank=local_rank, count=torch.cuda.device_count())
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), world_size, device)
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and GLOO not in str(error):
            raise
        reason = str(error).splitlines()[0].split("] ", 1)[-1]  # after the file and line of gloo's source
        raise InputError(f"process {dist.get_rank()} lost another process that trains with it: {reason}") from error
    finally:
        dist.destroy_process_group()
