"""How a library's rows are divided: blocks of 50,000 over all files in order, each one part of the output."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.inference.library.sources import Source

ROWS = 50_000
"""Rows of a block: minutes of work on one core, so that little is lost with one, and parts of some megabytes."""


@dataclass(frozen=True)
class Span:
    """The rows `first` to `last`, exclusive, of one file."""

    path: str
    digest: str
    changed: int
    first: int
    last: int


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the library; they may be of several files."""

    number: int
    spans: tuple[Span, ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(span.last - span.first for span in self.spans)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"number": self.number, "spans": [list(astuple(span)) for span in self.spans]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Block":
        """Return the block that `to_dict` described."""
        return cls(int(values["number"]), tuple(Span(*span) for span in values["spans"]))


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of the blocks: share `number`, counted from 1, of `count`."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            most = max(self.count, 1)
            raise InputError(f"the shard is {self.number}/{self.count}; accepted: 1/{most} to {most}/{most}")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that a text like ``3/16`` names."""
        number, slash, count = text.partition("/")
        if not (slash and number.isascii() and number.isdigit() and count.isascii() and count.isdigit()):
            raise InputError(f"the shard is {text!r}; accepted: like 3/16, from 1/16 to 16/16")
        return cls(int(number), int(count))

    def of(self, blocks: Sequence[Block]) -> list[Block]:
        """Return this share: consecutive blocks, so that a shard reads few files."""
        ends = [-(-len(blocks) * number // self.count) for number in (self.number - 1, self.number)]
        return list(blocks[slice(*ends)])


def divide(sources: Sequence[Source], rows: int = ROWS) -> list[Block]:
    """Return the blocks of a library; at least one, which is empty if there are no rows. One file must be readable."""
    blocks: list[Block] = []
    spans: list[Span] = []
    room = rows
    for source in sources:
        first = 0
        while first < source.rows:
            last = min(first + room, source.rows)
            spans.append(Span(source.path, source.digest, source.changed, first, last))
            room -= last - first
            first = last
            if room == 0:
                blocks.append(Block(len(blocks), tuple(spans)))
                spans, room = [], rows
    if not spans and not blocks:
        first_file = next(source for source in sources if source.error is None)
        spans = [Span(first_file.path, first_file.digest, first_file.changed, 0, 0)]
    if spans:
        blocks.append(Block(len(blocks), tuple(spans)))
    return blocks
