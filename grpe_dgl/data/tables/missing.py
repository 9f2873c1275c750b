"""Cells without a value."""

WORDS = ("nan", "na", "n/a", "null", "none", "#n/a", "#na", "<na>")
"""What spreadsheets, R, databases, pandas and Python write for a missing value, in small letters."""


def is_missing(cell: str) -> bool:
    """Return whether a cell has no value: it is blank, or a word for a missing value."""
    return not cell or cell.isspace() or cell.strip().lower() in WORDS
