"""x + dropout(update), with a kernel of our own on the CPU: there, drawing a mask takes longer than the addition."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def residual_dropout(x: Tensor, update: Tensor, dropout: float) -> Tensor:
    """Return x + update, where each number of the update is dropped at random.

    On the CPU nothing is stored for the backward pass: what stays is a function of the place and of one seed, which
    torch's generator gives.

    Parameters
    ----------
    x, update
        Of one shape and type.
    dropout
        The chance that a number becomes zero, the others being scaled by 1 / (1 - dropout).
    """
    if dropout == 0.0:
        return x + update
    same = x.shape == update.shape and x.dtype == update.dtype
    ours = same and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if not ours or torch.compiler.is_compiling():
        return x + F.dropout(update, dropout)
    result: Tensor = _ResidualDropout.apply(x, update, dropout, int(torch.randint(2**62, ())))
    return result


class _ResidualDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, update: Tensor, dropout: float, seed: int) -> Tensor:
        ctx.options = dropout, seed
        return _kept(update, dropout, seed, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, _Dropout.apply(grad, *ctx.options), None, None


class _Dropout(torch.autograd.Function):
    """Linear in the update, and so its own gradient."""

    @staticmethod
    def forward(ctx: Any, update: Tensor, dropout: float, seed: int) -> Tensor:
        ctx.options = dropout, seed
        return _kept(update, dropout, seed, None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Dropout.apply(grad, *ctx.options), None, None


def _kept(update: Tensor, dropout: float, seed: int, x: Tensor | None) -> Tensor:
    """Return what stays of the update, added to x if there is one."""
    from grpe_dgl.ops.fused.residual import add_kept  # numba stays unloaded for those who only export or use CUDA

    update = update.contiguous()
    out = torch.empty_like(update)
    x_or_none = np.empty(0, out.numpy().dtype) if x is None else x.detach().contiguous().view(-1).numpy()
    if out.numel():
        add_kept(x_or_none, update.detach().view(-1).numpy(), dropout, seed, out.view(-1).numpy())
    return out
