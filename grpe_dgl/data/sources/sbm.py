"""PATTERN and CLUSTER: node classification in stochastic block models, published or generated."""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grpe_dgl.data.sources import sbm_generate
from grpe_dgl.data.sources.dgl_files import SPLITS, consecutive, files_of, read_graphs, runs
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job, Source, Task
from grpe_dgl.errors import InputError

PUBLISHED_COUNTS = {"pattern": (10000, 2000, 2000), "cluster": (10000, 1000, 1000)}
_URLS = {
    "pattern": "https://data.dgl.ai/dataset/SBM_PATTERN.zip",
    "cluster": "https://data.dgl.ai/dataset/SBM_CLUSTER.zip",
}
_FILES = {"pattern": "SBM_PATTERN_{}.bin", "cluster": "CLUSTER_{}.bin"}
_VOCABULARY = {"pattern": 3, "cluster": 7}
CLASSES = {"pattern": ("host", "pattern"), "cluster": tuple(f"community {r}" for r in range(6))}
_RUN = 100  # graphs generated at a time


def published(name: str, raw_dir: Path, *, progress: Callable[..., object] | None = None) -> Source:
    """Return the source of the published ``"pattern"`` or ``"cluster"``, from DGL's files in `raw_dir`."""
    counts, jobs = runs(files_of(name, _URLS[name], _FILES[name], raw_dir, progress), _read)
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
        Every graph follows from the seed, its split and its number in it alone.
    """
    numbers = PUBLISHED_COUNTS[name] if graphs is None else tuple(graphs)
    if len(numbers) != len(SPLITS) or min(numbers) < 0 or sum(numbers) == 0:
        raise InputError(f"graphs is {graphs}; accepted: three counts, for {', '.join(SPLITS)}")
    if seed < 0:
        raise InputError(f"seed is {seed}; accepted: 0 or more")
    counts = dict(zip(SPLITS, numbers, strict=True))

    def jobs() -> Iterator[Job]:
        for split, count in enumerate(numbers):
            for first in range(0, count, _RUN):
                yield functools.partial(sbm_generate.make_run, name, seed, split, first, min(first + _RUN, count))

    settings = settings_of(name, generate=True, graphs=graphs, seed=seed)
    return _source(name, f"{name.upper()}, generated with seed {seed}", counts, jobs(), settings)


def settings_of(
    name: str, *, generate: bool, graphs: tuple[int, int, int] | None = None, seed: int = 0
) -> dict[str, Any]:
    """Return what `published` and `generated` put into the manifest as settings."""
    if not generate:
        return {"dataset": name, "generate": False}
    return {"dataset": name, "generate": True, "graphs": list(graphs or PUBLISHED_COUNTS[name]), "seed": seed}


def _source(
    name: str, origin: str, counts: Mapping[str, int], jobs: Iterator[Job], settings: Mapping[str, Any]
) -> Source:
    return Source(
        name=name,
        origin=origin,
        task=Task(level="node", kind="multiclass", targets=(name,), classes=CLASSES[name], metric="weighted_accuracy"),
        node_vocabulary=(_VOCABULARY[name],),
        node_features=None,
        num_edge_types=1,
        vocabulary=name,
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
