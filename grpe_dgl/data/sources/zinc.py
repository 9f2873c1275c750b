"""ZINC-12k: constrained solubility of 12,000 molecules, as `dgl.data.ZINCDataset` has it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from grpe_dgl.data.catalogue import CATALOGUE, Request
from grpe_dgl.data.sources.dgl_files import consecutive, files_of, read_graphs, runs
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Source
from grpe_dgl.errors import InputError


def make(request: Request) -> Source:
    """Return the source of a request."""
    return zinc(request.raw_dir, progress=request.progress)


def zinc(raw_dir: Path, *, progress: Callable[..., object] | None = None) -> Source:
    """Return the source of ZINC-12k, from DGL's files in `raw_dir`."""
    entry = CATALOGUE["zinc"]
    assert entry.schema is not None
    counts, jobs = runs(files_of("zinc", entry, raw_dir, progress), _read)
    return Source(
        schema=entry.schema,
        origin="ZINC-12k, dgl.data.ZINCDataset",
        num_rows=sum(counts.values()),
        jobs=jobs,
        splits=lambda rows: consecutive(counts),
        settings={"dataset": "zinc"},
    )


def _read(file: Path, first: int, last: int) -> Graphs:
    run = read_graphs(file, first, last, ("feat",), ("feat",))
    if "g_label" not in run.labels or run.labels["g_label"].size != last - first:
        raise InputError(f"{file} is corrupt: it does not have one g_label for each graph")
    return Graphs(
        num_nodes=run.num_nodes,
        num_edges=run.num_edges,
        node_feat=run.node_data["feat"].reshape(-1, 1),
        src=run.src,
        dst=run.dst,
        edge_type=run.edge_data["feat"].reshape(-1).astype(np.int64),
        label=run.labels["g_label"].reshape(-1, 1).astype(np.float32),
    )
