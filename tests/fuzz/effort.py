"""How much the fuzz suite does: seconds by default, minutes with ``GRPE_FUZZ=long``."""

import collections
import os

LONG = os.environ.get("GRPE_FUZZ") == "long"
SEED = 20260


def effort(short: int, long: int) -> int:
    """Return how many mutations to try."""
    return long if LONG else short


def report(title: str, outcomes: collections.Counter) -> None:
    """Print what the mutations gave; shown by ``pytest -s``."""
    print(f"\n{title}: {sum(outcomes.values())} mutations: {dict(outcomes.most_common())}")
