"""Where the parts of a flat array begin."""

import numpy as np
import numpy.typing as npt


def offsets_of(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each of consecutive parts begins, and where the last ends: (parts + 1,) for counts (parts,)."""
    sizes = np.asarray(counts, np.int64)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
