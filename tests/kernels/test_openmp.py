import os
import subprocess
import sys
import threading

import pytest

from grpe_dgl.kernels import openmp

MORE_THAN_CORES = (os.cpu_count() or 1) + 2


@pytest.fixture
def no_libgomp(monkeypatch):
    monkeypatch.setattr(openmp, "_torch_runtime", lambda: openmp.Runtime(0, 0, 0))


def pool_threads():
    return {thread.ident for thread in threading.enumerate() if thread.name.startswith("grpe-kernel")}


def test_without_libgomp_every_share_runs_once(no_libgomp):
    done = []
    openmp.run(lambda runtime, first, last, add: done.extend(range(first + add, last + add)), 7, 10)
    assert sorted(done) == list(range(10, 17))


def test_without_libgomp_a_second_call_starts_no_threads(no_libgomp):
    everyone = threading.Barrier(os.cpu_count() or 1)

    def meet(runtime, first, last):
        if first > 0 and first <= everyone.parties:
            everyone.wait(timeout=30)  # so that as many threads start as the pool may have

    openmp.run(meet, MORE_THAN_CORES)
    started = pool_threads()
    assert len(started) == everyone.parties
    pool = openmp._pool()
    for _ in range(20):
        openmp.run(lambda runtime, first, last: None, MORE_THAN_CORES)
    assert pool_threads() == started
    assert openmp._pool() is pool


def test_without_libgomp_an_error_of_any_share_is_raised_after_all_have_ended(no_libgomp):
    for failing in (0, 2):
        done = []

        def kernel(runtime, first, last, failing=failing, done=done):
            if first == failing:
                raise MemoryError("no memory")
            done.append(first)

        with pytest.raises(MemoryError, match="no memory"):
            openmp.run(kernel, 4)
        assert sorted(done) == [share for share in range(4) if share != failing]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_without_libgomp_a_forked_process_has_threads_of_its_own():
    program = """
import os
from grpe_dgl.kernels import openmp
openmp._torch_runtime = lambda: openmp.Runtime(0, 0, 0)
done = []
kernel = lambda runtime, first, last: done.append(first)
openmp.run(kernel, 5)
child = os.fork()
openmp.run(kernel, 5)
if child == 0:
    os._exit(0 if len(done) == 10 else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
