"""Numba compilation with a cache on disk, or without one where no cache folder can be written."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(
    *, parallel: bool = False, inner: bool = False, fastmath: bool | set[str] = False
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; its machine code is cached on disk if any cache folder is writable.

    Parameters
    ----------
    parallel
        Whether ``numba.prange`` loops run on several threads.
    inner
        Whether it is called only from other kernels, so that no Python wrapper and no cache of its own is made.
    fastmath
        LLVM's fast-math flags, as ``numba.njit`` takes them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        options: dict[str, Any] = {"nogil": True, "parallel": parallel, "fastmath": fastmath, "error_model": "numpy"}
        if inner:
            options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            return numba.njit(**options)(function)
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package's folder nor the user's cache folder is writable
            return numba.njit(**options)(function)

    return decorate
