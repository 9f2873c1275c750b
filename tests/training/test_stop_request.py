import os
import signal
import threading

import pytest

from grpe_dgl.training.stop_request import StopRequest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_request_and_a_second_one_goes_to_the_previous_handler(number):
    received = []
    before = signal.signal(number, lambda *_: received.append(number))
    try:
        stop = StopRequest()
        with stop.listening():
            assert not stop.asked
            os.kill(os.getpid(), number)
            assert stop.asked and stop.signal == number and not received
            os.kill(os.getpid(), number)
            assert received == [number]
        os.kill(os.getpid(), number)
        assert received == [number, number]
    finally:
        signal.signal(number, before)


def test_a_time_limit_is_a_request_without_a_signal():
    assert not StopRequest(max_seconds=60).asked
    stop = StopRequest(max_seconds=0)
    assert stop.asked and stop.signal is None


def test_another_thread_than_the_main_one_leaves_the_handlers_alone():
    handlers = []

    def listen():
        with StopRequest().listening():
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert handlers == [before]
