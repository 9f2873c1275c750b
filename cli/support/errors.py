"""How every command ends: a message and an exit code; only an unexpected error shows its traceback."""

import contextlib
import shlex
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import NO_ROOM

from .terminal import echo, printable

INTERRUPTED, TERMINATED = 130, 143

_OTHER_SPLIT = "for a CSV: `grpe preprocess csv` with another --split, --fractions or --seed, and --force"
HINTS = {
    "as_classes": "--task classification --force makes the dataset of classes",
    "other_positive": "--positive CLASS --force chooses",
    "allow_overlap": "--allow-overlap measures it all the same, --split train measures the training graphs alone",
    "decimal_comma": "--decimal , reads decimal commas",
    "decimal_or_thousands": "--decimal , reads decimal commas, --thousands , reads 1,234 as 1234",
    "decimal_point": "without --decimal , decimal points are read",
    "fewer_workers": "--workers sets their number",
    "from_scratch": "--from-scratch starts from random weights",
    "import_weights": "`grpe import {value} --heads HEADS --dataset DATASET --out CKPT` makes a checkpoint of them",
    "labels_missing": "correct the cells, or --bad-labels missing takes them for missing labels",
    "measure_anyway": "--allow-overlap measures it all the same",
    "make_calibration": "of a finished run, `grpe train RECIPE --out {value} --resume` calibrates on the test split; "
    "`grpe fit TABLE --target COLUMN` does too, with --folds 5 on every row",
    "make_encoding": "`grpe preprocess DATASET --encodings {value}` computes it",
    "make_dataset": "make one with `grpe preprocess`",
    "other_metric": _OTHER_SPLIT + "; or --set training.metric={value}",
    "other_split": _OTHER_SPLIT,
    "replace_folder": "--force makes everything again",
    "replace_export": "--force replaces it",
    "resume_run": "--resume continues it, --out names another folder",
    "standardise": "--standardise keeps the largest fragment of each, without charges where possible",
    "submission": "or --submission DIR, for PCQM4M",
    "transfer_transformer": "--transfer transformer takes everything but the embeddings over",
    "verify_dataset": "`grpe info {value} --verify` lists what is wrong",
}
"""What to type, by `InputError.hint` and `grpe_dgl.messages.Note.hint`; the library does not know the command line."""


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
            raise click.ClickException(printable(with_hint(error))) from None
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


def with_hint(error: InputError) -> str:
    """Return an error's message, followed by what to type if there is something."""
    if error.hint is None:
        return str(error)
    return f"{error}; {HINTS[error.hint].format(value=shlex.quote(error.value))}"


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
