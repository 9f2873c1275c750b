"""Ctrl-C and SIGTERM while training: finish the update, save, then stop."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any


class StopRequest:
    """Whether somebody, or the clock, has asked the run to stop.

    Parameters
    ----------
    max_seconds
        Ask by itself after this long; None never does.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self.signal: int | None = None
        """The signal that came, if one did."""

    @property
    def asked(self) -> bool:
        """Whether to stop now."""
        return self.signal is not None or (self._deadline is not None and time.monotonic() >= self._deadline)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as requests inside this block; the second one of a kind acts as it always did."""
        before: dict[int, Any] = {}

        def note(number: int, frame: FrameType | None) -> None:
            self.signal = number
            signal.signal(number, before[number])

        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):  # not the main thread, which alone may do this
                before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            for caught, handler in before.items():
                signal.signal(caught, handler)


class Stopped(Exception):  # noqa: N818 - not an error: the run is saved and can go on
    """A run was asked to stop and has saved itself."""
