import threading
import time

import pytest

from grpe_dgl.training.prefetch import prefetch


def test_order_and_end():
    assert list(prefetch(iter(range(20)))) == list(range(20))
    assert list(prefetch(iter([]))) == []


def test_items_are_made_ahead_in_another_thread_but_not_without_end():
    made = []

    def items():
        for number in range(100):
            made.append(threading.get_ident())
            yield number

    ahead = prefetch(items(), depth=2)
    assert next(ahead) == 0
    deadline = time.monotonic() + 10
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    assert len(made) == 4  # one given, two ready, one that waits for a place
    assert threading.get_ident() not in made
    ahead.close()
    assert "grpe-prefetch" not in [thread.name for thread in threading.enumerate()]
    assert len(made) == 4


def test_an_exception_is_raised_where_items_are_used():
    def items():
        yield 1
        raise OSError("the disk is gone")

    ahead = prefetch(items())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert "grpe-prefetch" not in [thread.name for thread in threading.enumerate()]
