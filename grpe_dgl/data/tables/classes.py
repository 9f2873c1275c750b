"""Two named classes as a yes/no target: which of them is the positive one."""

from collections.abc import Collection, Sequence

from grpe_dgl.errors import InputError

PLAIN = ("0", "1")
"""Negative and positive where labels are numbers already."""
_USUAL = ("1", "yes", "y", "true", "t", "positive", "pos", "active", "hit", "toxic", "inhibitor", "binder", "high", "+")


def choose_positive(classes: Collection[str], chosen: Sequence[str], *, where: str) -> tuple[str, str]:
    """Return the negative and the positive class of two.

    The positive one is the one among `chosen`; else the one with a usual name for it (yes, true, active, ...); else the
    larger number or the last in the alphabet, as scikit-learn has it.

    Parameters
    ----------
    classes
        Two names.
    chosen
        What the user calls positive, for all targets together.
    where
        Names the target in an error.
    """
    first, second = sorted(classes, key=lambda name: (number_or_zero(name), name))
    asked = [name for name in (first, second) if name in chosen]
    if len(asked) == 2:
        raise InputError(f"{where}: both classes, {first} and {second}, are chosen as positive; accepted: one")
    usual = [name for name in (first, second) if name.lower() in _USUAL]
    positive = asked[0] if asked else usual[0] if len(usual) == 1 else second
    return (first if positive == second else second), positive


def number_or_zero(text: str) -> float:
    """Return the number that a text is, 0 if it is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0
