import numpy as np
import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.relations import Relations


def test_codes_of_a_small_case_by_hand():
    codes = Relations(max_distance=3, num_edge_types=2)
    assert (codes.spd_far, codes.spd_unreachable, codes.spd_virtual, codes.num_spd) == (4, 5, 6, 7)
    assert (codes.edge_self, codes.edge_none, codes.edge_virtual, codes.num_edge) == (2, 3, 4, 5)
    #                                 type 0, type 1, self, virtual, 2, 3, far, unreachable
    assert codes.spd_of_relation().tolist() == [1, 1, 0, 6, 2, 3, 4, 5]
    assert codes.edge_of_relation().tolist() == [0, 1, 2, 4, 3, 3, 3, 3]
    assert len(codes) == 8


@pytest.mark.parametrize("max_distance", [1, 2, 5, 252])
@pytest.mark.parametrize("num_edge_types", [1, 4, 60])
def test_relation_names_each_pair_of_codes_once(max_distance, num_edge_types):
    codes = Relations(max_distance, num_edge_types)
    parts = codes.split(np.arange(len(codes), dtype=np.int32), ("relation", "spd", "edge"))
    assert parts["relation"].tolist() == list(range(len(codes)))
    assert len(set(zip(parts["spd"].tolist(), parts["edge"].tolist(), strict=True))) == len(codes)
    # Without an edge, a relation is its distance's: all but self (0), neighbours (1) and virtual, which have their own.
    far = [codes.relation_of_distance()[d] for d in (*range(2, max_distance + 2), 255)]
    assert parts["spd"][far].tolist() == [*range(2, max_distance + 1), codes.spd_far, codes.spd_unreachable]
    assert set(parts["edge"][far].tolist()) == {codes.edge_none}


def test_spd_of_distance_bytes():
    codes = Relations(max_distance=3, num_edge_types=1)
    assert codes.spd_of_distance()[[0, 1, 3, 4, 5, 254, 255]].tolist() == [0, 1, 3, 4, 4, 4, 5]


@pytest.mark.parametrize("max_distance", [0, -1, 253])
def test_max_distance_outside_its_range(max_distance):
    with pytest.raises(InputError, match=rf"max_distance is {max_distance}; accepted: 1\.\.252"):
        Relations(max_distance, 1)


def test_no_edge_types():
    with pytest.raises(InputError, match="num_edge_types is 0; accepted: 1 or more"):
        Relations(5, 0)
