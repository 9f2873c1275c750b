"""Follow a long table of predictions or fingerprints: progress, and which rows failed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .progress import progress

if TYPE_CHECKING:
    from grpe_dgl.inference.inputs import Rows

SHOWN = 10  # reasons that are kept, so that memory does not grow with the rows


@dataclass
class Outcome:
    """How many rows were written."""

    done: int = 0
    failed: int = 0
    """Rows with an error instead of numbers."""
    reasons: list[str] = field(default_factory=list)
    """Row number and error of the first rows that failed."""


def follow(chunks: Iterator[Sequence[str | None]], rows: "Rows", title: str) -> Outcome:
    """Exhaust `chunks`, which yields an error or None for every row of a chunk, and show progress."""
    outcome = Outcome()
    with progress(title, rows.total, f"{rows.noun}s") as more:
        for errors in chunks:
            failed = [(outcome.done + place, error) for place, error in enumerate(errors) if error is not None]
            outcome.reasons += [f"row {row}: {error}" for row, error in failed[: SHOWN - len(outcome.reasons)]]
            outcome.failed += len(failed)
            outcome.done += len(errors)
            more(len(errors))
    return outcome
