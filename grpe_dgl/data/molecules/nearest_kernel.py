"""The search of `grpe_dgl.data.molecules.nearest`, compiled."""

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.popcount import popcount


@compiled()
def count_bits(fingerprints, result):  # type: ignore[no-untyped-def]
    """Write the number of bits of each fingerprint, (n, W), into `result`, (n,) int64."""
    for row in range(len(fingerprints)):
        total = np.uint64(0)
        for word in range(fingerprints.shape[1]):
            total += popcount(fingerprints[row, word])
        result[row] = np.int64(total)


@compiled()
def search_nearest(queries, known, counts, result):  # type: ignore[no-untyped-def]
    """Write the similarity of each query, (R, W), to the nearest of `known`, (n, W), whose `counts` ascend."""
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
