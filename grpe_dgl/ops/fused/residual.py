"""The kernel of `grpe_dgl.ops.residual_dropout`."""

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork, run
from grpe_dgl.ops.fused.arguments import ELEMENT, Array, Flat
from grpe_dgl.ops.fused.dropout_mask import keep_factors, row_key
from grpe_dgl.ops.fused.lanes import LANES, add, load, mul, splat, store
from grpe_dgl.ops.fused.pointers import dtype_of, plain, pointers

BLOCK = 512  # vectors that share a key, and the least work for which another thread is used


class Inputs(NamedTuple):
    """What the kernel reads, and where it writes."""

    bounds: npt.NDArray[np.int64]
    """(threads + 1,): where each thread's blocks begin."""
    length: int
    has_x: bool
    x: Flat
    """(length,); not read if `has_x` is false."""
    update: Flat
    dropout: float
    seed: np.uint64
    out: Flat
    element: Array
    """An empty array of the type of the tensors' elements."""


def add_with_dropout(x: Tensor | None, update: Tensor, dropout: float, seed: int, out: Tensor) -> None:
    """Write x + keep_mask * update to `out`, or keep_mask * update without x; all are contiguous and alike.

    The mask depends on the seed and the position alone. `out` may be x or the update.
    """
    length = out.numel()
    blocks = -(-length // (BLOCK * LANES))
    threads = min(torch.get_num_threads(), blocks)
    call = Inputs(
        _bounds(blocks, threads),
        length,
        x is not None,
        0 if x is None else x.data_ptr(),
        update.data_ptr(),
        float(dropout),
        np.uint64(seed),
        out.data_ptr(),
        ELEMENT[out.dtype],
    )
    run(_kernel, threads, plain(call))


@functools.lru_cache(maxsize=64)
def _bounds(blocks: int, threads: int) -> npt.NDArray[np.int64]:
    """Return where each thread's blocks begin, (threads + 1,)."""
    return np.linspace(0, blocks, threads + 1).astype(np.int64)


@compiled()
def _kernel(runtime, first, last, inputs):  # type: ignore[no-untyped-def]
    if fork(_share, runtime, first, last, inputs) > 0:
        raise MemoryError("no memory for dropout")


@compiled(inner=True)
def _share(thread, inputs):  # type: ignore[no-untyped-def]
    bounds, length, has_x, x, update, dropout, seed, out, _ = pointers(inputs, Inputs)
    threshold, scale = np.int64(dropout * 4294967296.0), splat(1.0 / (1.0 - dropout), out)
    whole = length // LANES
    for block in range(bounds[thread], bounds[thread + 1]):
        key = row_key(seed, block)
        first = block * BLOCK
        last = min(first + BLOCK, whole)
        if has_x:
            for i in range(first, last):
                store(
                    out,
                    i,
                    add(load(x, i), mul(load(update, i), keep_factors(key, (i - first) * LANES, threshold, scale))),
                )
        else:
            for i in range(first, last):
                store(out, i, mul(load(update, i), keep_factors(key, (i - first) * LANES, threshold, scale)))
        if first + BLOCK > whole:  # the last numbers fill no whole vector
            keep_mask = np.empty(LANES, dtype_of(out))
            store(keep_mask, 0, keep_factors(key, (whole - first) * LANES, threshold, scale))
            for i in range(whole * LANES, length):
                value = update[i] * keep_mask[i - whole * LANES]
                out[i] = x[i] + value if has_x else value
