import functools
import signal
import subprocess
import sys
import time

import pytest

from grpe_dgl.io.workers import run_in_order


def slow_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0.0)
    return number


def blocked_signals() -> set[int]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


@pytest.mark.slow
def test_workers_never_get_the_signals_their_parent_answers():
    code = """
import signal
from grpe_dgl.io.workers import run_in_order
from tests.io.test_workers import blocked_signals
if __name__ == "__main__":
    for blocked in run_in_order([blocked_signals, blocked_signals], set, 2):
        print(signal.SIGINT in blocked and signal.SIGTERM in blocked)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_results_come_in_order_and_jobs_are_not_taken_far_ahead(workers):
    taken = 0

    def jobs():
        nonlocal taken
        for number in range(40):
            taken = number + 1
            yield functools.partial(slow_first, number)

    results = []
    for result in run_in_order(jobs(), double, workers):
        results.append(result)
        assert taken - len(results) <= 3 * workers
    assert results == [2 * number for number in range(40)]
