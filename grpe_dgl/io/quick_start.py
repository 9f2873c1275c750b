"""Start-up time of commands that answer within seconds, and of worker processes."""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


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


def quick_first_call(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Return a function whose first call in a process, which imports what it needs, collects no garbage meanwhile.

    Unlike `quick_start` it freezes nothing: it may be called in a process whose other objects are not ours.
    """
    called = False

    @functools.wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        nonlocal called
        if called:
            return function(*arguments, **named)
        called = True
        collects = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments, **named)
        finally:
            if collects:
                gc.enable()

    return call
