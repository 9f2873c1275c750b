"""Start-up time of commands that answer within seconds."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def quick_start() -> Iterator[None]:
    """Import and load in this context without collecting garbage, and never look through what was loaded again.

    Importing torch makes half a million objects that stay, which Python's collector would look through several times
    meanwhile and once more at the end of the process: a fifth of the time that `grpe predict` takes for one molecule.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
