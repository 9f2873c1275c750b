"""Formatting that several messages share."""

import difflib
import reprlib
from collections.abc import Sequence


class Note(str):
    """A sentence for the user; `hint` names what can be done about it, as `grpe_dgl.errors.InputError.hint` does."""

    hint: str | None

    def __new__(cls, text: str, *, hint: str | None = None) -> "Note":
        """Make a note."""
        note = super().__new__(cls, text)
        note.hint = hint
        return note


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 epoch``, ``2,000 epochs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(value: object, most: int = 80) -> str:
    """Return ``repr(value)``, cut to `most` characters: a value from a file may be of any size."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a whole number of about {value.bit_length() * 3 // 10:,} digits"
    try:
        text = _SHORT.repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def significant(value: float, digits: int = 4) -> str:
    """Return a number with `digits` decimals if that shows at least three digits of it, else with `digits` digits.

    >>> significant(0.33125), significant(0.0000012345), significant(0.0), significant(1234567.0)
    ('0.3312', '1.234e-06', '0.0000', '1234567.0000')
    """
    fixed = f"{value:.{digits}f}"
    return f"{value:.{digits}g}" if 0 < abs(value) < 10.0 ** (2 - digits) else fixed


def nearest(name: str, accepted: Sequence[str], prefix: str = "") -> str:
    """Return `` (did you mean ...?)`` if one of the accepted names, shown after `prefix`, is close, else nothing."""
    close = difflib.get_close_matches(name, accepted, n=1)
    return f" (did you mean {prefix}{close[0]}?)" if close else ""
