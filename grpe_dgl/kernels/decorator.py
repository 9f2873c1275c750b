"""Numba compilation with a cache on disk, or without one where no cache folder can be written."""

import functools
import sys
from collections.abc import Callable
from typing import Any


class Kernel:
    """A function that numba compiles when it is first called, or when a kernel that calls it is compiled.

    So importing a module with kernels does not load numba, which takes about 0.3 s.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, cached: bool) -> None:
        self._function, self._options, self._cached = function, options, cached
        functools.update_wrapper(self, function)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        import numba

        if self._cached:
            try:
                return numba.njit(cache=True, **self._options)(self._function)
            except RuntimeError:  # neither the package's folder nor the user's cache folder is writable
                pass
        return numba.njit(**self._options)(self._function)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives this object where another kernel calls it."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return self.dispatcher(*arguments)


def compiled(
    *, parallel: bool = False, inner: bool = False, fastmath: bool | set[str] = False
) -> Callable[[Callable[..., Any]], Kernel]:
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
    options: dict[str, Any] = {"nogil": True, "parallel": parallel, "fastmath": fastmath, "error_model": "numpy"}
    if inner:
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return lambda function: Kernel(function, options, cached=not inner)


def worth_loading(size: int, few: int) -> bool:
    """Whether a kernel is faster than numpy for a problem of this size, the time to load numba included.

    `few` is the size up to which numpy takes less than that; once numba is loaded, the kernel is always faster.
    """
    return size > few or "numba" in sys.modules
