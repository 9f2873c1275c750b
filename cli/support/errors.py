"""How every command ends: a message and an exit code; only an unexpected error shows its traceback."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import NO_ROOM

from .hints import with_hint
from .terminal import echo, printable

INTERRUPTED, TERMINATED = 130, 143


class Commands(click.Group):
    """The root group, with its exit codes.

    1 for input that cannot be used, 2 for wrong usage (click's own), 130 after Ctrl-C, 143 after SIGTERM.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _termination_raises():
                return super().invoke(ctx)
        except click.ClickException as error:
            vars(error)["message"] = printable(error.message)
            raise
        except InputError as error:
            raise click.ClickException(printable(with_hint(error, ctx.invoked_subcommand))) from None
        except OSError as error:
            if error.errno in NO_ROOM:
                raise click.ClickException(
                    printable(f"{error.filename or 'writing failed'}: {error.strerror}")
                ) from None
            if error.filename is None or isinstance(error, BrokenPipeError):
                raise
            raise click.ClickException(printable(f"{error.filename}: {error.strerror}")) from None
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except _Terminated:
            echo("terminated", err=True)
            sys.exit(TERMINATED)


class _Terminated(BaseException):
    """SIGTERM arrived; raised so that the running command cleans up."""


@contextlib.contextmanager
def _termination_raises() -> Iterator[None]:
    def terminate(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    try:
        before = signal.signal(signal.SIGTERM, terminate)
    except ValueError:  # only the main thread may set signal handlers
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
