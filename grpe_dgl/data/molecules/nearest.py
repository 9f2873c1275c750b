r"""Tanimoto similarity to the nearest of many fingerprints.

::

    T(a, b) = |a AND b| / |a OR b| = c / (|a| + |b| - c),    c = |a AND b|

where |a| is the number of bits set. As c is at most the smaller of |a| and |b|, T(a, b) is at most their quotient, so
fingerprints are ordered by |b|, searched from those with |b| = |a| outwards, and the search ends where that bound is
not above the best similarity so far.
"""

import functools

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.molecules.morgan import Words
from grpe_dgl.kernels.decorator import worth_loading

FEW_PAIRS = 1 << 17
"""Pairs of fingerprints up to which numpy compares all of them faster than numba is loaded."""


class Neighbours:
    """Fingerprints that others are compared with.

    Parameters
    ----------
    fingerprints
        (n, W) uint64, at least one.
    """

    def __init__(self, fingerprints: Words) -> None:
        self._known = np.ascontiguousarray(fingerprints)

    @functools.cached_property
    def _ordered(self) -> tuple[Words, npt.NDArray[np.int64]]:
        """The fingerprints by ascending number of bits, and these numbers."""
        from grpe_dgl.data.molecules.nearest_kernel import count_bits

        counts = np.zeros(len(self._known), np.int64)
        count_bits(self._known, counts)
        order = np.argsort(counts, kind="stable")
        return np.ascontiguousarray(self._known[order]), counts[order]

    def similarity(self, fingerprints: Words) -> npt.NDArray[np.float32]:
        """Return the Tanimoto similarity of each of R fingerprints, (R, W) uint64, to its nearest, (R,) float32.

        It is 1 for two fingerprints without any bit, and 0 if only one of them has none.
        """
        if hasattr(np, "bitwise_count") and not worth_loading(len(fingerprints) * len(self._known), FEW_PAIRS):
            return np.array([self._compare_all(one) for one in fingerprints], np.float32)
        from grpe_dgl.data.molecules.nearest_kernel import search_nearest

        result = np.zeros(len(fingerprints), np.float32)
        search_nearest(np.ascontiguousarray(fingerprints), *self._ordered, result)
        return result

    def _compare_all(self, one: Words) -> float:
        """Return the similarity of one fingerprint, (W,), to its nearest by comparing it with all, without numba."""
        common = np.bitwise_count(self._known & one).sum(1, dtype=np.int64)
        either = np.bitwise_count(self._known | one).sum(1, dtype=np.int64)
        return float(np.where(either == 0, 1.0, common / np.maximum(either, 1)).max())
