"""Batch norm whose statistics are those of the whole batch, however many processes share it."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """`torch.nn.BatchNorm1d` for (rows, features), exact over several processes and without padding.

    In training with several processes (`torch.distributed`) mean and variance are those of the rows of all of them, so
    that two processes compute what one would (`torch.nn.SyncBatchNorm` does this on GPUs only). A training batch of
    one row or none, which has no variance, is normalised by the running statistics and does not change them.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return (..., features), normalised per feature.

        Parameters
        ----------
        x
            (rows, features), or with `mask` of any number of dimensions.
        mask
            Bool, of x's shape without the last dimension: False for padding, which does not count in the statistics.
        """
        if not self.training:
            return super().forward(x) if mask is None else self._by_running_statistics(x)
        several = _several_processes()
        if mask is not None or several:
            return self._over_rows(x, mask, several)
        if len(x) < 2:
            return self._by_running_statistics(x)
        return super().forward(x)

    def _over_rows(self, x: Tensor, mask: Tensor | None, several: bool) -> Tensor:
        """Normalise by the rows that `mask` counts, of all processes if there are several."""
        total = _sum_of_rows(x, mask, several)
        rows = total[-1].detach()
        enough = rows >= 2  # a tensor, so that a GPU need not be waited for
        mean = total[:-1] / rows.clamp(min=1)
        variance = _sum_of_rows((x - mean).square(), mask, several)[:-1] / rows.clamp(min=1)
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        assert self.momentum is not None
        mean = torch.where(enough, mean, self.running_mean)
        variance = torch.where(enough, variance, self.running_var)
        with torch.no_grad():
            momentum = self.momentum * enough.to(mean.dtype)
            self.num_batches_tracked.add_(enough)
            unbiased = variance.detach() * rows / (rows - 1).clamp(min=1)
            self.running_mean.add_(momentum * (mean.detach() - self.running_mean))
            self.running_var.add_(momentum * (unbiased - self.running_var))
        return self._normalise(x, mean, variance)

    def _by_running_statistics(self, x: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None
        return self._normalise(x, self.running_mean, self.running_var)

    def _normalise(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias


def _several_processes() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _sum_of_rows(x: Tensor, mask: Tensor | None, several: bool) -> Tensor:
    """Return the sum over rows of every feature, and the number of rows: (features + 1,)."""
    if mask is None:
        count = x.new_tensor([len(x)])
    else:
        x, count = x.masked_fill(~mask.unsqueeze(-1), 0.0), mask.sum().to(x.dtype).view(1)
    sums = torch.cat([x.flatten(0, -2).sum(0), count])
    return _AllReduce.apply(sums) if several else sums


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
