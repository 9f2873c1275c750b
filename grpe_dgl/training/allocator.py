"""Keep freed memory in the process while a model trains.

The C library returns large blocks to the system as soon as they are freed. A training step allocates the same blocks
again and again, and the system clears every page of them anew: with tens of megabytes per tensor that takes longer than
the arithmetic (a step of GatedGCN on CLUSTER: 4.1 s of processor time instead of 9.4). It changes no number.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterator

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of <malloc.h>
KEEP_ALL = 2**31 - 1
DEFAULTS = {M_TRIM_THRESHOLD: 64 << 20, M_MMAP_MAX: 65536}
"""glibc's own values; the first it adjusts itself, up to this one."""


@contextlib.contextmanager
def freed_memory_is_kept() -> Iterator[None]:
    """Within the context, freed memory is reused and not returned to the system; afterwards it is returned.

    Does nothing with other C libraries than glibc. Contexts may be nested.
    """
    library = _glibc()
    if library is None or _depth:
        yield
        return
    _depth.append(True)
    library.mallopt(M_MMAP_MAX, 0)
    library.mallopt(M_TRIM_THRESHOLD, KEEP_ALL)
    try:
        yield
    finally:
        _depth.clear()
        for option, value in DEFAULTS.items():
            library.mallopt(option, value)
        library.malloc_trim(0)


_depth: list[bool] = []


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
