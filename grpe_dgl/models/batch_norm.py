"""Batch norm whose statistics are those of the whole batch, however many processes share it."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """`torch.nn.BatchNorm1d` for (rows, features), exact over several processes.

    In training with several processes (`torch.distributed`) mean and variance are those of the rows of all of them, so
    that two processes compute what one would (`torch.nn.SyncBatchNorm` does this on GPUs only). A training batch of
    one row or none, which has no variance, is normalised by the running statistics and does not change them.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, features), normalised per feature."""
        if not self.training:
            return super().forward(x)
        if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            return self._over_processes(x)
        if len(x) < 2:
            return self._by_running_statistics(x)
        return super().forward(x)

    def _over_processes(self, x: Tensor) -> Tensor:
        sums = torch.cat([x.sum(0), x.new_tensor([len(x)])])
        total = _AllReduce.apply(sums)
        rows = total[-1].detach()
        if rows < 2:
            return self._by_running_statistics(x)
        mean = total[:-1] / rows
        variance = _AllReduce.apply((x - mean).square().sum(0)) / rows
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        assert self.momentum is not None
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_(variance.detach() * rows / (rows - 1), self.momentum)
        return self._normalise(x, mean, variance)

    def _by_running_statistics(self, x: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None
        return self._normalise(x, self.running_mean, self.running_var)

    def _normalise(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class _AllReduce(torch.autograd.Function):
    """The sum over all processes; its gradient is the sum of the gradients that the processes have for it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        return total
