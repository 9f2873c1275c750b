"""x + dropout(update), by a kernel of its own on the CPU: there, torch takes longer to draw a mask than to add."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def residual_dropout(x: Tensor, update: Tensor, dropout: float) -> Tensor:
    """Return x + update, with dropout applied to the update.

    On the CPU nothing is stored for the backward pass: the mask is a function of the position and of one seed, which
    comes from torch's generator.

    Parameters
    ----------
    x, update
        Of the same shape and type.
    dropout
        The probability that a number is set to zero; the others are scaled by 1 / (1 - dropout).
    """
    if dropout == 0.0:
        return x + update
    alike = x.shape == update.shape and x.dtype == update.dtype
    supported = alike and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if not supported or torch.compiler.is_compiling():
        return x + F.dropout(update, dropout)
    result: Tensor = _ResidualDropout.apply(x, update, dropout, int(torch.randint(2**62, ())))
    return result


class _ResidualDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, update: Tensor, dropout: float, seed: int) -> Tensor:
        ctx.options = dropout, seed
        return _with_dropout(update, dropout, seed, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if torch.is_grad_enabled():  # a gradient of the gradient may be asked for
            return grad, _Dropout.apply(grad, *ctx.options), None, None
        dropout, seed = ctx.options
        return grad, _with_dropout(grad, dropout, seed, None), None, None


class _Dropout(torch.autograd.Function):
    """Dropout alone; it is linear, so its gradient is the same operation."""

    @staticmethod
    def forward(ctx: Any, update: Tensor, dropout: float, seed: int) -> Tensor:
        ctx.options = dropout, seed
        return _with_dropout(update, dropout, seed, None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Dropout.apply(grad, *ctx.options), None, None


def _with_dropout(update: Tensor, dropout: float, seed: int, x: Tensor | None) -> Tensor:
    """Return the update after dropout, added to x if there is one."""
    from grpe_dgl.ops.fused.residual import add_with_dropout  # here for start-up time: numba takes long to load

    update = update.contiguous()
    out = torch.empty_like(update)
    if out.numel():
        add_with_dropout(None if x is None else x.contiguous(), update, dropout, seed, out)
    return out
