import gc

import pytest

from grpe_dgl.io.quick_start import quick_first_call, quick_start


def test_garbage_is_not_collected_while_loading():
    frozen = gc.get_freeze_count()
    with quick_start():
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() > frozen
    gc.unfreeze()


def test_a_collector_that_was_off_stays_off():
    frozen = gc.get_freeze_count()
    gc.disable()
    try:
        with quick_start():
            pass
        assert quick_first_call(gc.isenabled)() is False
        assert not gc.isenabled() and gc.get_freeze_count() == frozen
    finally:
        gc.enable()


def test_the_first_call_alone_collects_nothing():
    collects = quick_first_call(gc.isenabled)
    frozen = gc.get_freeze_count()
    assert [collects(), collects(), collects()] == [False, True, True]
    assert gc.isenabled() and gc.get_freeze_count() == frozen


def test_an_error_in_the_first_call_leaves_the_collector_on():
    fails = quick_first_call(int)
    with pytest.raises(ValueError):
        fails("x")
    assert gc.isenabled() and fails("3") == 3
