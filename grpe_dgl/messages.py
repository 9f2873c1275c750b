"""Formatting that several messages share."""

import difflib
from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 epoch``, ``2,000 epochs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nearest(name: str, accepted: Sequence[str], prefix: str = "") -> str:
    """Return `` (did you mean ...?)`` if one of the accepted names, shown after `prefix`, is close, else nothing."""
    close = difflib.get_close_matches(name, accepted, n=1)
    return f" (did you mean {prefix}{close[0]}?)" if close else ""
