r"""Tanimoto similarity to the nearest of many fingerprints.

::

    T(a, b) = |a AND b| / |a OR b| = c / (|a| + |b| - c),    c = |a AND b|

where |a| is the number of bits set. As c is at most the smaller of |a| and |b|, T(a, b) is at most their quotient, so
fingerprints are ordered by |b|, searched from those with |b| = |a| outwards, and the search ends where that bound is
not above the best similarity so far.
"""

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.molecules.morgan import Words
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.popcount import popcount


class Neighbours:
    """Fingerprints that others are compared with.

    Parameters
    ----------
    fingerprints
        (n, W) uint64, at least one.
    """

    def __init__(self, fingerprints: Words) -> None:
        counts = _counts(np.ascontiguousarray(fingerprints))
        order = np.argsort(counts, kind="stable")
        self._fingerprints = np.ascontiguousarray(fingerprints[order])
        self._counts = counts[order]

    def similarity(self, fingerprints: Words) -> npt.NDArray[np.float32]:
        """Return the Tanimoto similarity of each of R fingerprints, (R, W) uint64, to its nearest, (R,) float32.

        It is 1 for two fingerprints without any bit, and 0 if only one of them has none.
        """
        result = np.zeros(len(fingerprints), np.float32)
        _nearest(np.ascontiguousarray(fingerprints), self._fingerprints, self._counts, result)
        return result


def _counts(fingerprints: Words) -> npt.NDArray[np.int64]:
    result = np.zeros(len(fingerprints), np.int64)
    _count(fingerprints, result)
    return result


@compiled()
def _count(fingerprints, result):  # type: ignore[no-untyped-def]
    for row in range(len(fingerprints)):
        total = np.uint64(0)
        for word in range(fingerprints.shape[1]):
            total += popcount(fingerprints[row, word])
        result[row] = np.int64(total)


@compiled()
def _nearest(queries, known, counts, result):  # type: ignore[no-untyped-def]
    width = known.shape[1]
    for row in range(len(queries)):
        bits = np.uint64(0)
        for word in range(width):
            bits += popcount(queries[row, word])
        own = np.int64(bits)
        above = np.searchsorted(counts, own)
        below = above - 1
        best = 0.0
        while below >= 0 or above < len(counts):
            # the bound of the next one on either side; -1 where that side is exhausted
            bound_above = -1.0 if above == len(counts) else (1.0 if counts[above] == 0 else own / counts[above])
            bound_below = -1.0 if below < 0 else (1.0 if own == 0 else counts[below] / own)
            if max(bound_above, bound_below) <= best:
                break
            if bound_above >= bound_below:
                at = above
                above += 1
            else:
                at = below
                below -= 1
            common = np.uint64(0)
            for word in range(width):
                common += popcount(queries[row, word] & known[at, word])
            either = own + counts[at] - np.int64(common)
            similarity = 1.0 if either == 0 else np.int64(common) / either
            best = max(best, similarity)
        result[row] = best
