"""PATTERN and CLUSTER: node classification in stochastic block models, published or generated."""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grpe_dgl.data.catalogue import CATALOGUE, Request
from grpe_dgl.data.sources import sbm_generate
from grpe_dgl.data.sources.dgl_files import consecutive, files_of, read_graphs, runs
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.errors import InputError

_RUN = 100  # graphs generated at a time


def make(request: Request) -> Source:
    """Return the source of a request."""
    if request.generate:
        return generated(request.name, graphs=request.graphs, seed=request.seed)
    return published(request.name, request.raw_dir, progress=request.progress)


def settings(request: Request) -> dict[str, Any]:
    """Return the settings of the source of a request, as its manifest has them."""
    return settings_of(request.name, generate=request.generate, graphs=request.graphs, seed=request.seed)


def published(name: str, raw_dir: Path, *, progress: Callable[..., object] | None = None) -> Source:
    """Return the source of the published ``"pattern"`` or ``"cluster"``, from DGL's files in `raw_dir`."""
    counts, jobs = runs(files_of(name, CATALOGUE[name], raw_dir, progress), _read)
    origin = f"{name.upper()}, dgl.data.{name.upper()}Dataset"
    return _source(name, origin, counts, jobs, settings_of(name, generate=False))


def generated(name: str, *, graphs: tuple[int, int, int] | None = None, seed: int = 0) -> Source:
    """Return a source of PATTERN or CLUSTER graphs drawn anew by the published procedure.

    Parameters
    ----------
    name
        ``"pattern"`` or ``"cluster"``.
    graphs
        How many for train, valid and test; as many as were published if None.
    seed
        Every graph depends only on the seed, its split and its number in the split.
    """
    splits = CATALOGUE[name].splits
    numbers = _published_counts(name) if graphs is None else tuple(graphs)
    if len(numbers) != len(splits) or min(numbers) < 0 or sum(numbers) == 0:
        raise InputError(f"graphs is {graphs}; accepted: three counts, for {', '.join(splits)}")
    if seed < 0:
        raise InputError(f"seed is {seed}; accepted: 0 or more")
    counts = dict(zip(splits, numbers, strict=True))

    def jobs() -> Iterator[Job]:
        for split, count in enumerate(numbers):
            for first in range(0, count, _RUN):
                yield functools.partial(sbm_generate.make_run, name, seed, split, first, min(first + _RUN, count))

    settings = settings_of(name, generate=True, graphs=graphs, seed=seed)
    return _source(name, f"{name.upper()}, generated with seed {seed}", counts, jobs(), settings)


def settings_of(
    name: str, *, generate: bool, graphs: tuple[int, int, int] | None = None, seed: int = 0
) -> dict[str, Any]:
    """Return the settings that `published` and `generated` put into the manifest."""
    if not generate:
        return {"dataset": name, "generate": False}
    return {"dataset": name, "generate": True, "graphs": list(graphs or _published_counts(name)), "seed": seed}


def _published_counts(name: str) -> tuple[int, ...]:
    counts = CATALOGUE[name].counts
    assert counts is not None
    return counts


def _source(
    name: str, origin: str, counts: Mapping[str, int], jobs: Iterator[Job], settings: Mapping[str, Any]
) -> Source:
    schema = CATALOGUE[name].schema
    assert schema is not None
    return Source(
        schema=schema,
        origin=origin,
        num_rows=sum(counts.values()),
        jobs=jobs,
        splits=lambda rows: consecutive(counts),
        settings=settings,
    )


def _read(file: Path, first: int, last: int) -> Graphs:
    # edata["feat"] of the published graphs is 1.0 everywhere: no type.
    run = read_graphs(file, first, last, ("feat", "label"), ())
    return Graphs(
        num_nodes=run.num_nodes,
        num_edges=run.num_edges,
        node_feat=run.node_data["feat"].reshape(-1, 1),
        src=run.src,
        dst=run.dst,
        edge_type=np.zeros(len(run.src), np.int64),
        label=run.node_data["label"].reshape(-1).astype(np.int64),
    )
