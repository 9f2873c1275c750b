"""Print messages: the one place where text goes to the terminal, so that none from a file can control it."""

import io
import sys
import unicodedata
from typing import Any, TextIO, cast

import click

KEPT = "\n\t"


def printable(text: str) -> str:
    r"""Return a text with its control characters as escapes: ``\x1b``; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in KEPT else _escape(character) for character in text
    )


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message, made `printable`."""
    click.echo(printable(str(message)), err=err, nl=nl)


class _Escaping(io.TextIOBase):
    """Standard output with control characters as escapes."""

    def write(self, text: str) -> int:
        sys.stdout.write(printable(text))
        return len(text)


def table_stream() -> TextIO:
    """Return standard output, for a table: as it is for a file or a pipe, made `printable` on a terminal."""
    return cast(TextIO, _Escaping()) if sys.stdout.isatty() else sys.stdout


def _escape(character: str) -> str:
    if character == "\r":
        return ""  # the end of a line in a file from Windows
    return " " if unicodedata.category(character) == "Zs" else character.encode("unicode_escape").decode()
