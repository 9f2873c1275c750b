"""The kernels of `pair_rows`: what lies between its matrix products, one pass over a piece of rows each.

Widths are multiples of eight, so that every row is whole vectors of `grpe_dgl.ops.fused.lanes`. All arrays are flat.
"""

from typing import Any

import numpy as np
import torch

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork, run
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import (
    LANES,
    add,
    fma,
    inline,
    load,
    mul,
    splat,
    store,
    sub,
    total,
    where_negative,
)

ROWS_PER_THREAD = 256


def call(kernel: Any, rows: int, *arguments: Any) -> None:
    """Run a kernel below on the numbers of rows that `threads_for` gives, each of about as many rows."""
    if rows:
        threads = threads_for(rows)
        run(kernel, threads, (rows, threads, *arguments))


def threads_for(rows: int) -> int:
    """Return how many threads share `rows` rows."""
    return min(torch.get_num_threads(), 1 + rows // ROWS_PER_THREAD)


@compiled()
def map_and_norm(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Set a = e + W scores + bias and y = LN(a); see `_map_and_norm` for the arguments."""
    fork(_map_and_norm, runtime, first, last, arguments)


@compiled(inner=True)
def _map_and_norm(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, e, scores, weight, bias, gain, shift, epsilon, a, y = arguments
    width, heads = len(gain) // LANES, len(scores) // rows
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        at = row * width
        for d in range(width):
            x = add(load(e, at + d), load(bias, d))
            for head in range(heads):
                x = fma(splat(scores[row * heads + head], e), load(weight, head * width + d), x)
            store(a, at + d, x)
        _norm_row(a, at, width, gain, shift, epsilon, y)


@compiled()
def norm(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Set y = LN(a) and `statistics`, (rows, 2), to mean and one over the deviation of every row."""
    fork(_norm, runtime, first, last, arguments)


@compiled(inner=True)
def _norm(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, a, gain, shift, epsilon, y, statistics = arguments
    width = len(gain) // LANES
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        mean, share = _norm_row(a, row * width, width, gain, shift, epsilon, y)
        statistics[2 * row] = mean
        statistics[2 * row + 1] = share


@compiled(inner=True)
def _norm_row(a, at, width, gain, shift, epsilon, y):  # type: ignore[no-untyped-def]
    inline()
    sums = splat(0, a)
    for d in range(width):
        sums = add(sums, load(a, at + d))
    mean = total(sums) / (width * LANES)
    centre, sums = splat(mean, a), splat(0, a)
    for d in range(width):
        x = sub(load(a, at + d), centre)
        sums = fma(x, x, sums)
    share = 1.0 / np.sqrt(total(sums) / (width * LANES) + epsilon)
    factor = splat(share, a)
    for d in range(width):
        x = mul(sub(load(a, at + d), centre), factor)
        store(y, at + d, fma(x, load(gain, d), load(shift, d)))
    return mean, share


@compiled()
def bias_elu(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Set h = ELU(h + bias)."""
    fork(_bias_elu, runtime, first, last, arguments)


@compiled(inner=True)
def _bias_elu(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, h, bias = arguments
    width = len(bias) // LANES
    zero, one = splat(0, h), splat(1, h)
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        for d in range(width):
            x = add(load(h, row * width + d), load(bias, d))
            negative = sub(exp(where_negative(x, x, zero)), one)
            store(h, row * width + d, where_negative(x, negative, x))


@compiled()
def add_residual(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Set out = out + a + bias."""
    fork(_add_residual, runtime, first, last, arguments)


@compiled(inner=True)
def _add_residual(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, out, a, bias = arguments
    width = len(bias) // LANES
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        for d in range(width):
            at = row * width + d
            store(out, at, add(load(out, at), add(load(a, at), load(bias, d))))


@compiled()
def elu_backward(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Multiply `grad` by the derivative of h = ELU(.), and add the sums of its columns to `sums`, (threads, width)."""
    fork(_elu_backward, runtime, first, last, arguments)


@compiled(inner=True)
def _elu_backward(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, grad, h, sums = arguments
    width = len(h) // rows // LANES
    one, own = splat(1, h), thread * width
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        for d in range(width):
            x = load(h, row * width + d)
            g = mul(load(grad, row * width + d), where_negative(x, add(x, one), one))
            store(grad, row * width + d, g)
            store(sums, own + d, add(load(sums, own + d), g))


@compiled()
def norm_backward(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Set `out` to the gradient of a layer norm's input a, plus `given` unless that is empty.

    `grad` is the gradient of its output; `sums`, (threads, 4, width), gets the sums over rows of the gradients of gain
    and shift, of `given` and of `out`.
    """
    fork(_norm_backward, runtime, first, last, arguments)


@compiled(inner=True)
def _norm_backward(thread, arguments):  # type: ignore[no-untyped-def]
    rows, threads, grad, a, statistics, gain, given, out, sums = arguments
    width = len(gain) // LANES
    own = 4 * thread * width
    for row in range(rows * thread // threads, rows * (thread + 1) // threads):
        at = row * width
        mean, share = splat(statistics[2 * row], a), splat(statistics[2 * row + 1], a)
        plain, scaled = splat(0, a), splat(0, a)
        for d in range(width):
            x = mul(sub(load(a, at + d), mean), share)
            g = load(grad, at + d)
            store(sums, own + d, fma(g, x, load(sums, own + d)))
            store(sums, own + width + d, add(load(sums, own + width + d), g))
            g = mul(g, load(gain, d))
            plain = add(plain, g)
            scaled = fma(g, x, scaled)
        first = splat(total(plain) / (width * LANES), a)
        second = splat(total(scaled) / (width * LANES), a)
        for d in range(width):
            x = mul(sub(load(a, at + d), mean), share)
            g = sub(mul(load(grad, at + d), load(gain, d)), fma(x, second, first))
            found = mul(g, share)
            if len(given):
                direct = load(given, at + d)
                found = add(found, direct)
                store(sums, own + 2 * width + d, add(load(sums, own + 2 * width + d), direct))
            store(out, at + d, found)
            store(sums, own + 3 * width + d, add(load(sums, own + 3 * width + d), found))
