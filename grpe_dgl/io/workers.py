"""Run jobs in worker processes and take their results in order, a bounded number of them at a time.

Workers are spawned, because a process forked after a parallel numba kernel dies. Each has a pipe of its own, so that it
ends by itself when its parent is killed: the pipe closes. This file imports nothing heavy: a worker loads it first.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.io.quick_start import quick_start

_AHEAD = 3  # jobs per worker that may be started before the first of them is taken


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a process may use them all
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_order(
    jobs: Iterable[Callable[[], Any]], finish: Callable[[Any], Any], workers: int
) -> Generator[Any, None, None]:
    """Yield ``finish(job())`` for every job, in order.

    Parameters
    ----------
    jobs
        Taken one by one as workers become free. They and `finish` must pickle if `workers` is more than 1.
    finish
        Applied to each job's result where the job runs.
    workers
        How many processes; 1 runs everything in this one. They share the cores among them.
    """
    if workers <= 1:
        for job in jobs:
            yield finish(job())
        return
    context = multiprocessing.get_context("spawn")
    threads = max(1, cores() // workers)
    processes, connections = [], []
    try:
        # Starting it with the first worker would let the signals through again: it unblocks them when it has started.
        resource_tracker.ensure_running()
        with _signals_held():
            for _ in range(workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, threads), daemon=True)
                process.start()
                theirs.close()
                processes.append(process)
                connections.append(ours)
        for connection in connections:
            connection.send(finish)
        yield from _dispatch(iter(jobs), connections)
    finally:
        for connection in connections:
            connection.close()
        for process in processes:
            process.kill()  # a worker has nothing to clean up
        for process in processes:
            process.join()


def _dispatch(jobs: Iterator[Callable[[], Any]], connections: list[Connection]) -> Iterator[Any]:
    """Keep every worker busy and yield results in the order of the jobs."""
    idle, busy = list(connections), dict[Connection, int]()
    results: dict[int, Any] = {}
    started = taken = 0
    more = True
    while more or busy or results:
        while more and idle and started - taken < _AHEAD * len(connections):
            job = next(jobs, None)
            if job is None:
                more = False
                break
            connection = idle.pop()
            with contextlib.suppress(BrokenPipeError):  # the worker died: reported below, where its result is read
                connection.send(job)
            busy[connection] = started
            started += 1
        for ready in wait(list(busy)) if busy else ():
            assert isinstance(ready, Connection)
            try:
                result, error = ready.recv()
            except (EOFError, ConnectionResetError):
                raise InputError(
                    "a worker process died, as it does when the system runs out of memory; try fewer of them",
                    hint="fewer_workers",
                ) from None
            if error is not None:
                raise error
            results[busy.pop(ready)] = result
            idle.append(ready)
        while taken in results:
            yield results.pop(taken)
            taken += 1


def _serve(connection: Connection, threads: int) -> None:
    """Run jobs until the parent closes the pipe or ends."""
    # Read when numba and torch are first imported, which is when the first message is unpickled.
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        with quick_start():  # unpickled, it imports torch
            finish = connection.recv()
        while True:
            job = connection.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = (finish(job()), None)
            except Exception as error:
                error.add_note("in a worker process:\n" + traceback.format_exc())
                answer = (None, error)
            connection.send(answer)


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Delay SIGINT and SIGTERM inside this context; processes started in it never receive them."""
    held = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []
    # Processes started by this thread inherit its mask. The mask alone would not keep a signal from another thread,
    # such as one of a linear algebra library, whereupon Python runs the handler in the main thread all the same.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in held}
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for missed in came:
            signal.raise_signal(missed)
