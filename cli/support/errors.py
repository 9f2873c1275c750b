"""How every command ends: a message and an exit code, and a traceback only for what nobody foresaw."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import NO_ROOM

INTERRUPTED, TERMINATED = 130, 143


class Commands(click.Group):
    """The root group: 1 for what was given, 2 for usage (click's own), 130 after Ctrl-C, 143 after SIGTERM."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _termination_raises():
                return super().invoke(ctx)
        except InputError as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            if error.errno in NO_ROOM:
                raise click.ClickException(f"{error.filename or 'writing failed'}: {error.strerror}") from None
            if error.filename is None or isinstance(error, BrokenPipeError):
                raise
            raise click.ClickException(f"{error.filename}: {error.strerror}") from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except _Terminated:
            click.echo("terminated", err=True)
            sys.exit(TERMINATED)


class _Terminated(BaseException):
    """SIGTERM came; raised, so that whatever is under way cleans up."""


@contextlib.contextmanager
def _termination_raises() -> Iterator[None]:
    def terminate(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    try:
        before = signal.signal(signal.SIGTERM, terminate)
    except ValueError:  # not the main thread, which alone may do this
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
