"""Compute the positional encodings of a dataset that are missing, with progress."""

import time
from collections.abc import Iterable
from pathlib import Path

from .progress import progress_so_far
from .terminal import echo

GRAPHS_PER_WORKER = 2_000  # with fewer, the work is done before another process has started


def make_encodings(folder: Path, encodings: Iterable[str], *, workers: int | None = None) -> None:
    """Compute and store what the dataset in `folder` lacks of `encodings`, and print a line for each.

    `workers` is the number of processes; None takes as many as make it faster.
    """
    names = tuple(encodings)
    if not names:
        return
    from grpe_dgl.data.encodings.prepare import missing_encodings, prepare_encodings
    from grpe_dgl.data.store.store import Store
    from grpe_dgl.io.workers import cores

    store = Store(folder)
    if workers is None:
        workers = max(1, min(cores(), len(store) // GRAPHS_PER_WORKER))
    for encoding in missing_encodings(store, names):
        begin = time.monotonic()
        show = progress_so_far(f"{store.schema.name} {encoding}", "graphs")
        prepare_encodings(store, [str(encoding)], workers=workers, progress=show)
        echo(f"{folder}: computed the encoding {encoding} in {time.monotonic() - begin:.1f} s", err=True)
