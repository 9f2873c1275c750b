"""What EGT computes for every pair on its own, in pieces that fit the processor's cache.

A batch has many times more pairs than nodes (72,000 in 128 molecules of ZINC), so that on the CPU these maps are most
of a step, and as single operations of torch they wait for memory: each writes and reads tens of megabytes. Here a piece
of rows passes all of them at once, and the backward pass computes again what lies between, so that it is not stored.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROWS_AT_A_TIME = 2048
"""2048 rows of 128 float32 numbers are 1 MB."""


def norm_and_map(x: Tensor, norm: nn.LayerNorm, weight: Tensor, bias: Tensor) -> Tensor:
    """Return ``Linear(LN(x))``, (..., outputs), for x (..., width) and the linear map's weight and bias."""
    if not _in_pieces(x):
        return F.linear(norm(x), weight, bias)
    return _NormAndMap.apply(x, norm.weight, norm.bias, weight, bias, norm.eps)


def update(e: Tensor, scores: Tensor, output: nn.Linear, ffn: nn.Sequential) -> Tensor:
    """Return ``a + FFN(a)`` with ``a = e + output(scores)``, of the shape of e, (..., width).

    Parameters
    ----------
    e, scores
        (..., width) and (..., heads).
    output
        From heads to width.
    ffn
        LayerNorm, Linear, ELU, Linear.
    """
    if not _in_pieces(e):
        e = e + output(scores)
        return e + ffn(e)
    norm, widen, _, narrow = ffn
    weights = (output.weight, output.bias, norm.weight, norm.bias, widen.weight, widen.bias, narrow.weight, narrow.bias)
    return _Update.apply(e, scores, *weights, norm.eps)


def _in_pieces(x: Tensor) -> bool:
    """Whether x is a matrix on the CPU; padded batches and those of autocast take the plain operations."""
    return x.dim() == 2 and x.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_A_TIME) for start in range(0, rows, ROWS_AT_A_TIME))


class _NormAndMap(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, epsilon: float
    ) -> Tensor:
        ctx.save_for_backward(x, gain, shift, weight)
        ctx.epsilon = epsilon
        found = x.new_empty(len(x), len(weight))
        for rows in _pieces(len(x)):
            y = F.layer_norm(x[rows], gain.shape, gain, shift, epsilon)
            torch.addmm(bias, y, weight.T, out=found[rows])
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, weight = ctx.saved_tensors
        of_x, of_weight = torch.empty_like(x), torch.zeros_like(weight)
        of_gain, of_shift = torch.zeros_like(gain), torch.zeros_like(shift)
        for rows in _pieces(len(x)):
            y, mean, deviation = torch.native_layer_norm(x[rows], gain.shape, gain, shift, ctx.epsilon)
            of_weight.addmm_(grad[rows].T, y)
            of_x[rows] = _norm_backward(
                grad[rows] @ weight, x[rows], mean, deviation, (gain, shift), (of_gain, of_shift)
            )
        return of_x, of_gain, of_shift, of_weight, grad.sum(0), None


class _Update(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, e: Tensor, scores: Tensor, *arguments: Any) -> Tensor:
        *weights, epsilon = arguments
        out_weight, out_bias, gain, shift, widen, widen_bias, narrow, narrow_bias = weights
        middle, found = torch.empty_like(e), torch.empty_like(e)
        for rows in _pieces(len(e)):
            a = torch.addmm(out_bias, scores[rows], out_weight.T, out=middle[rows]).add_(e[rows])
            y = F.layer_norm(a, gain.shape, gain, shift, epsilon)
            h = F.elu_(torch.addmm(widen_bias, y, widen.T))
            torch.addmm(narrow_bias, h, narrow.T, out=found[rows]).add_(a)
        ctx.save_for_backward(middle, scores, *weights)
        ctx.epsilon = epsilon
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        middle, scores, *weights = ctx.saved_tensors
        out_weight, _, gain, shift, widen, widen_bias, narrow, _ = weights
        of_e, of_scores = torch.empty_like(middle), torch.empty_like(scores)
        of_weights = [torch.zeros_like(weight) for weight in weights]
        of_out, of_out_bias, of_gain, of_shift, of_widen, of_widen_bias, of_narrow, of_narrow_bias = of_weights
        for rows in _pieces(len(middle)):
            given, a = grad[rows], middle[rows]
            y, mean, deviation = torch.native_layer_norm(a, gain.shape, gain, shift, ctx.epsilon)
            h = F.elu_(torch.addmm(widen_bias, y, widen.T))
            of_narrow.addmm_(given.T, h)
            of_narrow_bias += given.sum(0)
            of_h = torch.ops.aten.elu_backward(given @ narrow, 1, 1, 1, True, h)
            of_widen.addmm_(of_h.T, y)
            of_widen_bias += of_h.sum(0)
            of_a = _norm_backward(of_h @ widen, a, mean, deviation, (gain, shift), (of_gain, of_shift))
            of_a = torch.add(of_a, given, out=of_e[rows])
            of_out.addmm_(of_a.T, scores[rows])
            of_out_bias += of_a.sum(0)
            torch.mm(of_a, out_weight, out=of_scores[rows])
        return of_e, of_scores, *of_weights, None


def _norm_backward(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    deviation: Tensor,
    weights: tuple[Tensor, Tensor],
    sums: tuple[Tensor, Tensor],
) -> Tensor:
    """Return the gradient of a layer norm's input; those of gain and shift are added to `sums`."""
    found = torch.ops.aten.native_layer_norm_backward(
        grad, x, weights[0].shape, mean, deviation, *weights, [True, True, True]
    )
    sums[0].add_(found[1])
    sums[1].add_(found[2])
    return found[0]
