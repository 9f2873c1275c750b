"""The kernel of `grpe_dgl.ops.residual_dropout`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork, run
from grpe_dgl.ops.fused.dropout_mask import keep, row_key
from grpe_dgl.ops.fused.lanes import LANES, add, load, mul, store

BLOCK = 512  # vectors that share a key; also the least that wakes another thread


def add_kept(x: npt.NDArray[Any], update: npt.NDArray[Any], dropout: float, seed: int, out: npt.NDArray[Any]) -> None:
    """Write x + keep * update to `out`, (n,) each, or keep * update if x is empty; seed and place alone decide keep."""
    blocks = -(-len(out) // (BLOCK * LANES))
    threads = min(torch.get_num_threads(), blocks)
    bounds = np.linspace(0, blocks, threads + 1).astype(np.int64)
    run(_kernel, threads, bounds, x, update, float(dropout), np.uint64(seed), out)


@compiled()
def _kernel(runtime, first, last, bounds, x, update, dropout, seed, out):  # type: ignore[no-untyped-def]
    if fork(_share, runtime, first, last, (bounds, x, update, dropout, seed, out)) > 0:
        raise MemoryError("no memory for dropout")


@compiled(inner=True)
def _share(thread, arguments):  # type: ignore[no-untyped-def]
    bounds, x, update, dropout, seed, out = arguments
    threshold, scale = np.int64(dropout * 4294967296.0), out.dtype.type(1.0 / (1.0 - dropout))
    whole = len(out) // LANES
    for block in range(bounds[thread], bounds[thread + 1]):
        key = row_key(seed, block)
        first = block * BLOCK
        last = min(first + BLOCK, whole)
        if len(x):
            for i in range(first, last):
                store(out, i, add(load(x, i), mul(load(update, i), keep(key, (i - first) * LANES, threshold, scale))))
        else:
            for i in range(first, last):
                store(out, i, mul(load(update, i), keep(key, (i - first) * LANES, threshold, scale)))
        if first + BLOCK > whole:  # what is left makes no whole vector
            stays = np.empty(LANES, out.dtype)
            store(stays, 0, keep(key, (whole - first) * LANES, threshold, scale))
            for i in range(whole * LANES, len(out)):
                value = update[i] * stays[i - whole * LANES]
                out[i] = x[i] + value if len(x) else value
