"""A dataset that can be made: its schema, and the jobs that make its graphs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.schema import Schema

Job = Callable[[], Graphs]
"""Returns one run of graphs. Jobs are sent to worker processes, so they must pickle, as `functools.partial` does."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A dataset that can be made: its schema, the jobs that make its graphs in order, and its splits."""

    schema: Schema
    origin: str
    """Where it comes from, in words, for the manifest."""
    num_rows: int | None
    """How many graphs or rows there are, for the progress bar; None if unknown."""
    jobs: Iterable[Job]
    """Made lazily, one after another; their graphs, skipped rows aside, are graph 0, 1, 2, ... of the dataset."""
    splits: Callable[[npt.NDArray[np.int64]], Mapping[str, npt.NDArray[np.int64]]]
    """Called when all jobs are done with the row that each graph came from, (G,); returns graph numbers per split."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The options that change the data (a seed, a split rule, ...), as plain JSON values; kept in the manifest,
    so that a request for the same dataset with other options is refused."""
    observe: Callable[[Graphs], None] | None = None
    """Called with every run, in order, in the process that writes the dataset, to collect what `splits` needs."""
