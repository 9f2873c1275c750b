import numpy as np
import pytest

from grpe_dgl.offsets import offsets_of


@pytest.mark.parametrize(
    "counts, expected",
    [([3, 0, 2], [0, 3, 3, 5]), ([7], [0, 7]), ([], [0]), (np.array([200, 100], np.uint8), [0, 200, 300])],
)
def test_where_parts_begin_and_the_last_ends(counts, expected):
    offsets = offsets_of(counts)
    assert offsets.dtype == np.int64
    assert offsets.tolist() == expected


def test_sums_past_32_bits():
    assert offsets_of(np.full(3, 2**31 - 1, np.int32)).tolist() == [0, 2**31 - 1, 2**32 - 2, 3 * (2**31 - 1)]
