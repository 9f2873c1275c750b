"""Many graphs as flat arrays: the output of sources and the input of the store."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Skipped:
    """A row of a source that became no graph, and why."""

    row: int
    """Counted from 0 over the whole source."""
    reason: str


@dataclass(frozen=True)
class Graphs:
    """A run of G graphs with N nodes and M edges in all; graph after graph in every array.

    Edges are stored as given (both directions where the publisher gives both), numbered within their graph from 0.
    """

    num_nodes: npt.NDArray[np.int64]
    """(G,): nodes of each graph."""
    num_edges: npt.NDArray[np.int64]
    """(G,): edges of each graph."""
    node_feat: npt.NDArray[Any]
    """(N, F): integer columns, or float32."""
    src: npt.NDArray[np.int64]
    """(M,): where each edge starts, 0..n-1 within its graph."""
    dst: npt.NDArray[np.int64]
    """(M,): where each edge ends."""
    edge_type: npt.NDArray[np.int64]
    """(M,): the edge's type, 0..E-1."""
    label: npt.NDArray[Any]
    """Per graph (G, T) float32, NaN = missing, for regression and binary; (G,) int64, -1 = missing, for multiclass.
    Per node the same with N for G."""
    skipped: tuple[Skipped, ...] = field(default=())
    """Rows read for this run that became no graph."""
    row: npt.NDArray[np.int64] | None = None
    """(G,): the row of the source that each graph came from, counted from 0 over the whole source. None: the run read
    consecutive rows, beginning where the run before it ended, and made a graph of every one that is not skipped."""
    smiles: tuple[str, ...] | None = None
    """(G,): the SMILES of each graph as its source has it; None for graphs that are not molecules."""
    weight: npt.NDArray[np.float32] | None = None
    """(G,): how much each graph counts in the loss; None: all count the same."""
    key: npt.NDArray[np.uint64] | None = None
    """(G, K): numbers by which the source's splits group the graphs; None where none are needed."""
