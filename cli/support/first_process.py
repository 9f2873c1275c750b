"""Messages of the first process alone: ``torchrun`` starts the same command several times."""

import os

from .terminal import echo


def is_first_process() -> bool:
    """Whether this is the only process or the first of those that ``torchrun`` started."""
    return os.environ.get("RANK", "0") == "0"


def say(message: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message, unless another process does."""
    if is_first_process():
        echo(message, err=err, nl=nl)
