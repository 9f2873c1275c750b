"""Which graph a model reads: the complete graph of pairs, or the graph itself."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.errors import InputError

CODES = ("relation", "spd", "edge")


@dataclass(frozen=True, kw_only=True)
class PairView:
    """The pair graph: every ordered pair of nodes with its relation (`grpe_dgl.transforms.ToPairGraph`)."""

    reads: ClassVar = "pairs"

    max_distance: int = 5
    """L: the largest distance with a code of its own, 1..252."""
    virtual_node: bool = True
    """Whether every graph gets a virtual node, its node 0."""
    codes: tuple[str, ...] = ("relation",)
    """Which of relation, spd and edge are in ``edata``."""
    path_edges: int = 0
    """How many edges of a shortest path between the two nodes are in ``edata["path"]``, (pairs, path_edges): see
    `grpe_dgl.transforms.path_edges`. 0 leaves it out."""

    def __post_init__(self) -> None:
        if self.path_edges < 0:
            raise InputError(f"path_edges is {self.path_edges}; accepted: 0 or more")
        for code in self.codes:
            if code not in CODES:
                raise InputError(f"codes names {code!r}; accepted: {', '.join(CODES)}")


@dataclass(frozen=True, kw_only=True)
class GraphView:
    """The graph as its source gave it: ``ndata["feat"]``, and ``edata["feat"]`` with the edge's code."""

    reads: ClassVar = "graph"

    self_loops: bool = False
    """Whether every node gets an edge to itself, after its graph's edges, as ``dgl.add_self_loop`` adds them: with 0 in
    ``edata["feat"]``, and marked in ``edata["self_loop"]``."""
    virtual_node: bool = False
    """Whether every graph gets a virtual node, its node 0, as `grpe_dgl.transforms.AddVirtualNode` adds it."""


View = PairView | GraphView
