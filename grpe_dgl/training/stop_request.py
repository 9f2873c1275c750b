"""Ctrl-C and SIGTERM while training: finish the update, save, then stop."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any


class StopRequest:
    """A request to stop training, by a signal or by a time limit.

    Parameters
    ----------
    max_seconds
        The time limit; None for none.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self.signal: int | None = None
        """The signal that was received, if any."""

    @property
    def asked(self) -> bool:
        """Whether training should stop now."""
        return self.signal is not None or (self._deadline is not None and time.monotonic() >= self._deadline)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM as requests within this block; a second one goes to the previous handler."""
        before: dict[int, Any] = {}

        def note(number: int, frame: FrameType | None) -> None:
            self.signal = number
            signal.signal(number, before[number])

        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):  # only the main thread may set handlers
                before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            for caught, handler in before.items():
                signal.signal(caught, handler)


class Stopped(Exception):  # noqa: N818 - not an error: the run is saved and can be resumed
    """Training stopped on request, after saving a checkpoint."""
