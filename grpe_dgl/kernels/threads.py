"""Threads of numba's parallel loops beside torch's own."""

import contextlib
import sys
from collections.abc import Iterator

import numba


@contextlib.contextmanager
def as_many_threads_as_torch() -> Iterator[None]:
    """Run numba's parallel loops on torch's number of threads, and keep that number.

    numba's OpenMP layer sets the thread count of the runtime it shares with torch: without this, a parallel loop in a
    program that asked for one thread would make all later torch operations run on every core.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads, before = torch.get_num_threads(), numba.get_num_threads()
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]  # set when numba is loaded
    numba.set_num_threads(min(threads, most))
    try:
        yield
    finally:
        numba.set_num_threads(before)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
