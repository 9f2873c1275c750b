"""LayerNorm after a bias is added, without gradients, in one pass over the rows: torch reads them three times."""

import functools

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork, run

ROWS_PER_THREAD = 128  # fewer take no longer than it takes to wake a thread


def add_and_norm(x: Tensor, added: Tensor, weight: Tensor, bias: Tensor, eps: float, out: Tensor) -> None:
    """Add `added` to every row of x in place, and write to `out` the LayerNorm of the rows.

    Parameters
    ----------
    x, out
        (N, width) float32, contiguous.
    added, weight, bias
        (width,) float32, contiguous.
    eps
        Is added to the variance.
    """
    threads = max(1, min(torch.get_num_threads(), len(x) // ROWS_PER_THREAD))
    arrays = tuple(tensor.numpy() for tensor in (x, added, weight, bias, out))
    run(_kernel, threads, (_bounds(len(x), threads), *arrays, eps))


@functools.lru_cache(maxsize=64)
def _bounds(rows: int, threads: int) -> npt.NDArray[np.int64]:
    """Return where each thread's rows begin, (threads + 1,)."""
    return np.linspace(0, rows, threads + 1).astype(np.int64)


@compiled()
def _kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    if fork(_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the norm")


# Sums of a row may be taken in any order: without that the compiler adds up one number at a time.
@compiled(inner=True, fastmath={"reassoc", "contract", "nsz"})
def _share(thread, arguments):  # type: ignore[no-untyped-def]
    bounds, x, added, weight, bias, out, eps = arguments
    width = x.shape[1]
    part = np.float32(1.0 / width)
    for i in range(bounds[thread], bounds[thread + 1]):
        total = np.float32(0.0)
        for d in range(width):
            value = x[i, d] + added[d]
            x[i, d] = value
            total += value
        mean = total * part
        squares = np.float32(0.0)
        for d in range(width):
            centred = x[i, d] - mean
            squares += centred * centred
        scale = np.float32(1.0) / np.sqrt(squares * part + np.float32(eps))
        for d in range(width):
            out[i, d] = (x[i, d] - mean) * scale * weight[d] + bias[d]
