"""How the numbers of a table are written: the decimal separator, and the separator of thousands."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grpe_dgl.data.tables.rows import NumberCell
from grpe_dgl.errors import InputError

DECIMALS = (".", ",")
THOUSANDS = (".", ",", "'", " ")
_GROUP_MARKS = " \u00a0\u2009\u202f'\u2019"  # blanks and apostrophes, which are never decimal separators
_MOST = float(np.finfo(np.float32).max)  # the type of labels


@dataclass(frozen=True)
class NumberFormat:
    """The form of numbers in text cells; cells that a file stores as numbers need none.

    Groups of three digits are accepted where they cannot mean anything else: with blanks or apostrophes between them
    (``1 234``), with a decimal part after them (``1,234.5``), or if there are several (``1,234,567``). ``1,234`` may
    also be written with a decimal comma: it is accepted only if `thousands` is the comma.

    Parameters
    ----------
    decimal
        ``.`` or ``,``.
    thousands
        ``.``, ``,``, ``'`` or a blank; None if it is not known.
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise InputError(f"decimal is {self.decimal!r}; accepted: '.' or ','")
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            accepted = ", ".join(repr(mark) for mark in THOUSANDS if mark != self.decimal)
            raise InputError(f"thousands is {self.thousands!r}; accepted: {accepted}")

    def parse(self, cell: str) -> float | None:
        """Return the number in a cell; None if it is not a number, or not finite in float32, the type of labels."""
        if self.decimal == "." or isinstance(cell, NumberCell):
            try:
                number = float(cell)  # has neither commas nor groups
                return number if abs(number) <= _MOST else None
            except ValueError:
                pass
        text = cell.strip().replace("\u2212", "-")  # the minus sign of word processors
        if self._plain.fullmatch(text):
            number = float(text.replace(self.decimal, "."))
        elif self._groups.fullmatch(text):
            digits = re.sub(f"[{re.escape(self._marks)}]", "", text)
            number = float(digits.replace(self.decimal, "."))
        else:
            return None
        return number if abs(number) <= _MOST else None

    def settings(self) -> dict[str, str]:
        """Return what differs from the default, as plain JSON values."""
        thousands = {} if self.thousands is None else {"thousands": self.thousands}
        return ({} if self.decimal == "." else {"decimal": self.decimal}) | thousands

    def described(self) -> str:
        """Return the form in words, for an error message."""
        name = {".": "point", ",": "comma"}[self.decimal]
        return f"a number with a decimal {name}"

    @property
    def _other(self) -> str:
        """The comma or the point, whichever is not the decimal separator."""
        return "," if self.decimal == "." else "."

    @property
    def _marks(self) -> str:
        return _GROUP_MARKS + self._other

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        d = re.escape(self.decimal)
        return re.compile(rf"[-+]?([0-9]+({d}[0-9]*)?|{d}[0-9]+)([eE][-+]?[0-9]+)?")

    @cached_property
    def _groups(self) -> re.Pattern[str]:
        d, other, exponent = re.escape(self.decimal), re.escape(self._other), "([eE][-+]?[0-9]+)?"
        if self.thousands in (None, "'", " "):
            fraction = f"{d}[0-9]*"
            # one group of the other separator needs a fraction after it, several do not
            unclear = rf"[0-9]{{1,3}}({other}[0-9]{{3}}{fraction}|({other}[0-9]{{3}}){{2,}}({fraction})?)"
        else:
            unclear = rf"[0-9]{{1,3}}({other}[0-9]{{3}})+({d}[0-9]*)?"
        clear = "|".join(rf"[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+({d}[0-9]*)?" for mark in _GROUP_MARKS)
        return re.compile(rf"[-+]?({unclear}|{clear}){exponent}")
