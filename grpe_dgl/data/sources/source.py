"""What a dataset says of itself, and how its graphs are made."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.raw_graphs import Graphs

Job = Callable[[], Graphs]
"""Makes one run of graphs. Jobs are sent to worker processes, so they pickle: a `functools.partial` of a function."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be predicted."""

    level: str
    """``"graph"`` or ``"node"``."""
    kind: str
    """``"regression"``, ``"binary"`` (one or many yes/no targets) or ``"multiclass"`` (one target of many classes)."""
    targets: tuple[str, ...]
    """The name of each target; of the one target where there is one."""
    classes: tuple[str, ...] = ()
    """Multiclass: the name of each class, in the order of the labels."""
    metric: str
    """What the dataset is judged by: mae, rmse, r2, rocauc, ap, accuracy or weighted_accuracy."""
    standardise: bool = False
    """Regression: whether training sees targets with the training split's mean taken off and divided by its spread."""

    @property
    def num_outputs(self) -> int:
        """How many numbers a model predicts per graph or node."""
        return len(self.classes) if self.kind == "multiclass" else len(self.targets)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A dataset that can be made: its description, the jobs that make its graphs in order, and its splits."""

    name: str
    """What the dataset is called: ``zinc``, ``ogbg-molhiv``, the CSV's name."""
    origin: str
    """Where it comes from, in words, for the manifest."""
    task: Task
    node_vocabulary: tuple[int, ...] | None
    """Integer node features: how many values each column has. None for continuous ones."""
    node_features: int | None
    """Continuous node features: how many. None for integer ones."""
    num_edge_types: int
    vocabulary: str
    """Which features these are, so that models and data can be matched: ``ogb`` (OGB's atom and bond columns),
    ``zinc``, ``pattern``, ``cluster`` or ``custom``."""
    num_rows: int | None
    """How many graphs or rows there are, for the progress bar; None if unknown."""
    jobs: Iterable[Job]
    """Made lazily, one after another; their graphs, skipped rows aside, are graph 0, 1, 2, ... of the dataset."""
    splits: Callable[[npt.NDArray[np.int64]], Mapping[str, npt.NDArray[np.int64]]]
    """Called when all jobs are done with the row that each graph came from, (G,); returns graph numbers per split."""
    undirected: bool = True
    """Whether an edge can be walked in both directions when distances are measured."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for and changes the data (a seed, a split rule, ...), as plain JSON values; kept in the manifest,
    so that asking again for something else under the same name is noticed."""
    observe: Callable[[Graphs], None] | None = None
    """Called with every run, in order, where the dataset is written: what `splits` needs of the graphs is kept here."""
