"""The kernel of `grpe_dgl.ops.residual_dropout`."""

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork, run
from grpe_dgl.ops.fused.dropout_mask import keep_factors, row_key
from grpe_dgl.ops.fused.lanes import LANES, add, load, mul, splat, store

BLOCK = 512  # vectors that share a key, and the least work for which another thread is used


class Inputs(NamedTuple):
    """What the kernel reads, and where it writes."""

    bounds: npt.NDArray[np.int64]
    """(threads + 1,): where each thread's blocks begin."""
    x: npt.NDArray[Any]
    """(n,), or empty, for the update alone."""
    update: npt.NDArray[Any]
    dropout: float
    seed: np.uint64
    out: npt.NDArray[Any]


def add_with_dropout(
    x: npt.NDArray[Any], update: npt.NDArray[Any], dropout: float, seed: int, out: npt.NDArray[Any]
) -> None:
    """Write x + keep_mask * update to `out`, (n,) each, or keep_mask * update if x is empty.

    The mask depends on the seed and the position alone.
    """
    blocks = -(-len(out) // (BLOCK * LANES))
    threads = min(torch.get_num_threads(), blocks)
    run(_kernel, threads, Inputs(_bounds(blocks, threads), x, update, float(dropout), np.uint64(seed), out))


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
    bounds, x, update, dropout, seed, out = inputs
    threshold, scale = np.int64(dropout * 4294967296.0), splat(1.0 / (1.0 - dropout), out)
    whole = len(out) // LANES
    for block in range(bounds[thread], bounds[thread + 1]):
        key = row_key(seed, block)
        first = block * BLOCK
        last = min(first + BLOCK, whole)
        if len(x):
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
            keep_mask = np.empty(LANES, out.dtype)
            store(keep_mask, 0, keep_factors(key, (whole - first) * LANES, threshold, scale))
            for i in range(whole * LANES, len(out)):
                value = update[i] * keep_mask[i - whole * LANES]
                out[i] = x[i] + value if len(x) else value
