"""The count behind the table of docs/scaling.md is what a process really takes."""

import sys

import pytest
import torch

from benchmarks.live_memory import LiveMemory


def test_literals():
    with LiveMemory() as memory:
        a = torch.zeros(1000, device="meta")  # 4,000 bytes
        b = a + 1  # 4,000
        view = b[:10]
        assert memory.now == 8_000
        del b
        assert memory.now == 8_000  # the view holds the memory
        del view
        c = a.to(torch.float16)  # 2,000
    assert memory.now == 6_000 and memory.peak == 8_000 and len(c) == 1000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_counted_memory_is_within_15_percent_of_the_process():
    from benchmarks.plan import Plan, count, measure_in_a_process

    plan = Plan("standard", "molhiv", 64, "float32", layers=2)
    assert count(plan)[0] / measure_in_a_process(plan) == pytest.approx(1.0, abs=0.15)


def test_operations_of_a_layer_are_those_counted_by_hand():
    """q, k, v, output: 4 products of d x d; FFN: 2; 2 operations a number, and twice that in the backward pass."""
    from benchmarks.plan import Plan, count

    one, two = (count(Plan("tiny", "pcqm4m", 2, "float32", layers=layers))[1] for layers in (1, 2))
    from benchmarks.plan import DATA

    sizes = DATA["pcqm4m"].sizes(2)
    nodes = len(sizes) * int(sizes.max()) if sizes.max() ** 2 * 2 <= 1.15 * (sizes**2).sum() else int(sizes.sum())
    assert (two - one) >= 3 * nodes * 6 * 2 * 64 * 64
