"""A source whose jobs can be slow, fail or skip rows; importable by worker processes."""

import functools
import os
import signal
import time
from collections.abc import Iterator

import numpy as np

from grpe_dgl.data.sources.raw_graphs import Graphs, Skipped
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema, Task

ROWS = 20  # of each job


def make(first: int, version: int, seconds: float = 0.0, skip: tuple[int, ...] = ()) -> Graphs:
    time.sleep(seconds)
    rows = [row for row in range(first, first + ROWS) if row not in skip]
    sizes = np.array([2 + row % 5 for row in rows], np.int64)
    src = np.concatenate([np.arange(0), *(np.arange(n - 1) for n in sizes)])
    return Graphs(
        num_nodes=sizes,
        num_edges=sizes - 1,
        node_feat=np.full((sizes.sum(), 1), version % 7),
        src=src,
        dst=src + 1,
        edge_type=np.zeros(len(src), np.int64),
        label=np.array(rows, np.float32)[:, None],
        skipped=tuple(Skipped(row, f"reason {row}") for row in range(first, first + ROWS) if row in skip),
    )


def fail(first: int, error: type[Exception]) -> Graphs:
    raise error(f"job {first} failed")


def die(first: int) -> Graphs:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def source(
    jobs: int, *, version: int = 0, seconds: float = 0.0, skip: tuple[int, ...] = (), broken: Job | None = None
) -> Source:
    def make_jobs() -> Iterator[Job]:
        for job in range(jobs):
            if broken is not None and job == jobs // 2:
                yield broken
            yield functools.partial(make, job * ROWS, version, seconds, skip)

    return Source(
        schema=Schema(
            name="synthetic",
            task=Task(level="graph", kind="regression", targets=("row",), metric="mae"),
            vocabulary="custom",
            node_vocabulary=(7,),
        ),
        origin="tests",
        num_rows=jobs * ROWS,
        jobs=make_jobs(),
        splits=lambda rows: {"train": np.flatnonzero(rows % 2 == 0), "test": np.flatnonzero(rows % 2)},
        settings={"version": version},
    )


__all__ = ["InputError", "die", "fail", "make", "source"]
