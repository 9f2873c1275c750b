"""Where consecutive parts of an array begin."""

import numpy as np
import numpy.typing as npt


def offsets_of(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each of consecutive parts begins, and where the last one ends.

    Parameters
    ----------
    counts
        Shape (P,), integer: how many elements each part has.

    Returns
    -------
    numpy.ndarray
        Shape (P + 1,), int64: part p is elements offsets[p]..offsets[p + 1] - 1.
    """
    counts = np.asarray(counts)
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def lengths_of(offsets: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Return how long each part is: offsets (parts + 1,) that `offsets_of` made, in any integer type, to (parts,)."""
    wide = offsets.astype(np.int64)
    return wide[1:] - wide[:-1]
