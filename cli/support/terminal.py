"""Print messages: the one place where text goes to the terminal, so that none from a file can control it."""

from typing import Any

import click

KEPT = "\n\t"


def printable(text: str) -> str:
    r"""Return a text with its control characters as escapes: ``\x1b``; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in KEPT or character == "\N{ZERO WIDTH JOINER}"
        else _escape(character)
        for character in text
    )


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message, made `printable`."""
    click.echo(printable(str(message)), err=err, nl=nl)


def _escape(character: str) -> str:
    if character == "\r":
        return ""  # of a file with Windows' line ends
    return character.encode("unicode_escape").decode() if character.strip() or ord(character) < 32 else " "
