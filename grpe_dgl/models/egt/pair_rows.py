"""What EGT computes for every pair on its own, in pieces that fit the processor's cache.

A batch has many times more pairs than nodes (72,000 in 128 molecules of ZINC), so that on the CPU these maps are most
of a step, and as single operations of torch they wait for memory: each writes and reads tens of megabytes. Here a piece
of rows passes all of them at once, and the backward pass computes again what lies between, so that it is not stored.
Between two matrix products a piece is passed over once, by a kernel of `pair_kernels`.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

LANES = 8
"""Numbers in a vector of the kernels."""
ROWS_AT_A_TIME = 2048
"""2048 rows of 128 float32 numbers are 1 MB."""


def norm_and_map(x: Tensor, norm: nn.LayerNorm, weight: Tensor, bias: Tensor) -> Tensor:
    """Return ``Linear(LN(x))``, (..., outputs), for x (..., width) and the linear map's weight and bias."""
    if not in_pieces(x, x.shape[-1]):
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
    norm, widen, _, narrow = ffn
    assert isinstance(widen, nn.Linear)
    if not in_pieces(e, e.shape[-1], widen.out_features):
        e = e + output(scores)
        return e + ffn(e)
    weights = (output.weight, output.bias, norm.weight, norm.bias, widen.weight, widen.bias, narrow.weight, narrow.bias)
    return _Update.apply(e, scores, *weights, norm.eps)


def in_pieces(x: Tensor, *widths: int) -> bool:
    """Whether x is a matrix on the CPU and rows are whole vectors; others, and autocast, take the plain operations."""
    whole = all(width % LANES == 0 for width in widths)
    return whole and x.dim() == 2 and x.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_A_TIME) for start in range(0, rows, ROWS_AT_A_TIME))


def _flat(x: Tensor) -> Any:
    return x.detach().view(-1).numpy()


class _NormAndMap(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, epsilon: float
    ) -> Tensor:
        from grpe_dgl.models.egt import pair_kernels as kernels

        x = x.contiguous()
        ctx.save_for_backward(x, gain, shift, weight)
        ctx.epsilon = epsilon
        found = x.new_empty(len(x), len(weight))
        all_y, statistics = x.new_empty(ROWS_AT_A_TIME, x.shape[1]), x.new_empty(ROWS_AT_A_TIME, 2)
        for rows in _pieces(len(x)):
            piece = x[rows]
            y = all_y[: len(piece)]
            kernels.call(
                kernels.norm, len(piece), _flat(piece), _flat(gain), _flat(shift), epsilon, _flat(y), _flat(statistics)
            )
            torch.addmm(bias, y, weight.T, out=found[rows])
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from grpe_dgl.models.egt import pair_kernels as kernels

        x, gain, shift, weight = ctx.saved_tensors
        width = x.shape[1]
        of_x, of_weight = torch.empty_like(x), torch.zeros_like(weight)
        sums = x.new_zeros(kernels.threads_for(ROWS_AT_A_TIME), 4, width)
        buffers, statistics = x.new_empty(2, ROWS_AT_A_TIME, width), x.new_empty(ROWS_AT_A_TIME, 2)
        for rows in _pieces(len(x)):
            piece = x[rows]
            count = len(piece)
            y, of_y = buffers[:, :count]
            moments = _flat(statistics[:count])
            kernels.call(kernels.norm, count, _flat(piece), _flat(gain), _flat(shift), ctx.epsilon, _flat(y), moments)
            of_weight.addmm_(grad[rows].T, y)
            torch.mm(grad[rows], weight, out=of_y)
            none = _flat(x.new_empty(0))
            kernels.call(
                kernels.norm_backward, count, _flat(of_y), _flat(piece), moments, _flat(gain), none, _flat(of_x[rows]),
                _flat(sums),
            )  # fmt: skip
        of_gain, of_shift, _, _ = sums.sum(0)
        return of_x, of_gain, of_shift, of_weight, grad.sum(0), None


class _Update(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, e: Tensor, scores: Tensor, *arguments: Any) -> Tensor:
        from grpe_dgl.models.egt import pair_kernels as kernels

        *weights, epsilon = arguments
        out_weight, out_bias, gain, shift, widen, widen_bias, narrow, narrow_bias = weights
        e, scores, mapped = e.contiguous(), scores.contiguous(), out_weight.T.contiguous()
        middle, found = torch.empty_like(e), torch.empty_like(e)
        all_y, all_h = e.new_empty(ROWS_AT_A_TIME, e.shape[1]), e.new_empty(ROWS_AT_A_TIME, len(widen))
        for rows in _pieces(len(e)):
            a, out = middle[rows], found[rows]
            y, h = all_y[: len(a)], all_h[: len(a)]
            kernels.call(
                kernels.map_and_norm, len(a), _flat(e[rows]), _flat(scores[rows]), _flat(mapped), _flat(out_bias),
                _flat(gain), _flat(shift), epsilon, _flat(a), _flat(y),
            )  # fmt: skip
            torch.mm(y, widen.T, out=h)
            kernels.call(kernels.bias_elu, len(a), _flat(h), _flat(widen_bias))
            torch.mm(h, narrow.T, out=out)
            kernels.call(kernels.add_residual, len(a), _flat(out), _flat(a), _flat(narrow_bias))
        ctx.save_for_backward(middle, scores, *weights)
        ctx.epsilon = epsilon
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from grpe_dgl.models.egt import pair_kernels as kernels

        middle, scores, *weights = ctx.saved_tensors
        out_weight, _, gain, shift, widen, widen_bias, narrow, _ = weights
        grad, width, inner = grad.contiguous(), middle.shape[1], len(widen)
        of_e, of_scores = torch.empty_like(middle), torch.empty_like(scores)
        of_out, of_widen, of_narrow = (torch.zeros_like(weight) for weight in (out_weight, widen, narrow))
        threads = kernels.threads_for(ROWS_AT_A_TIME)
        sums, inner_sums = grad.new_zeros(threads, 4, width), grad.new_zeros(threads, inner)
        narrow_buffers, wide_buffers = (grad.new_empty(2, ROWS_AT_A_TIME, size) for size in (width, inner))
        statistics = grad.new_empty(ROWS_AT_A_TIME, 2)
        for rows in _pieces(len(middle)):
            given, a = grad[rows], middle[rows]
            count = len(a)
            y, of_y = narrow_buffers[:, :count]
            h, of_h = wide_buffers[:, :count]
            moments = _flat(statistics[:count])
            kernels.call(kernels.norm, count, _flat(a), _flat(gain), _flat(shift), ctx.epsilon, _flat(y), moments)
            torch.mm(y, widen.T, out=h)
            kernels.call(kernels.bias_elu, count, _flat(h), _flat(widen_bias))
            of_narrow.addmm_(given.T, h)
            torch.mm(given, narrow, out=of_h)
            kernels.call(kernels.elu_backward, count, _flat(of_h), _flat(h), _flat(inner_sums))
            of_widen.addmm_(of_h.T, y)
            torch.mm(of_h, widen, out=of_y)
            of_a = of_e[rows]
            kernels.call(
                kernels.norm_backward, count, _flat(of_y), _flat(a), moments, _flat(gain), _flat(given), _flat(of_a),
                _flat(sums),
            )  # fmt: skip
            of_out.addmm_(of_a.T, scores[rows])
            torch.mm(of_a, out_weight, out=of_scores[rows])
        of_gain, of_shift, of_narrow_bias, of_out_bias = sums.sum(0)
        of_widen_bias = inner_sums.sum(0)
        return (
            of_e, of_scores, of_out, of_out_bias, of_gain, of_shift, of_widen, of_widen_bias, of_narrow, of_narrow_bias,
            None,
        )  # fmt: skip
