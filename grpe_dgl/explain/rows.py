"""Explanations of the rows of a table, some at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from grpe_dgl.explain.explanation import Explainer, Explanation

_AT_A_TIME = 64


@dataclass(frozen=True)
class ExplainedRow:
    """A row of the input, and its explanation or the reason why it has none."""

    cells: list[str]
    smiles: str
    explanation: Explanation | None
    error: str | None


def explain_rows(explainer: Explainer, rows: Iterable[tuple[list[str], str]]) -> Iterator[list[ExplainedRow]]:
    """Yield the explained rows of some of `rows`, which are cells and their SMILES, until there are no more."""
    iterator = iter(rows)
    while some := list(islice(iterator, _AT_A_TIME)):
        errors, explanations = explainer.explain([smiles for _, smiles in some])
        yield [
            ExplainedRow(cells, smiles, explanation, error)
            for (cells, smiles), explanation, error in zip(some, explanations, errors, strict=True)
        ]
