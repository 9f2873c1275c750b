"""Which graph a model reads: the complete graph of pairs, or the graph itself."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from grpe_dgl.errors import InputError

CODES = ("relation", "spd", "edge")
ENCODINGS = (
    "laplacian",
    "combinatorial_laplacian",
    "random_walk",
    "svd",
    "spectrum",
    "svd_self_loops",
    "rdkit",
    "rdkit_morgan",
)
"""The kinds of positional encodings; `grpe_dgl.data.encodings.compute` computes each. Those of `DESCRIPTORS` are no
encodings of nodes, but numbers of a whole molecule, `grpe_dgl.data.molecules.descriptors`."""
DESCRIPTORS = {"rdkit": 178, "rdkit_morgan": 178 + 512}
"""How many numbers per molecule there are of each kind of descriptors: RDKit's, or these and Morgan counts."""


class Encoding(NamedTuple):
    """A positional encoding of nodes: its kind and how many eigenvectors, steps or singular vectors."""

    kind: str
    size: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}"

    @property
    def columns(self) -> int:
        """How many numbers a node has: of singular vectors left and right ones."""
        if self.kind in DESCRIPTORS:
            return 0
        return 2 * self.size if self.kind.startswith("svd") else self.size

    @classmethod
    def parse(cls, name: str, *, key: str = "an encoding") -> "Encoding":
        """Return the encoding called ``laplacian:8``; `key` names it in the error."""
        kind, _, size = name.partition(":")
        if kind not in ENCODINGS or not size.isdecimal() or not 1 <= int(size) <= 1000:
            raise InputError(
                f"{key} is {name!r}; accepted: KIND:SIZE such as laplacian:8, with a size of 1..1000 and one of the "
                f"kinds {', '.join(ENCODINGS)}"
            )
        if kind in DESCRIPTORS and int(size) != DESCRIPTORS[kind]:
            raise InputError(f"{key} is {name!r}; accepted: {kind}:{DESCRIPTORS[kind]}")
        return cls(kind, int(size))


def check_encodings(encodings: tuple[str, ...]) -> None:
    """Raise unless every encoding can be read and no kind appears twice, as each has one place in ``ndata``."""
    kinds = [Encoding.parse(name).kind for name in encodings]
    if len(set(kinds)) < len(kinds):
        raise InputError(f"encodings are {', '.join(encodings)}; accepted: one of each kind")


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
    encodings: tuple[str, ...] = ()
    """Positional encodings in ``ndata``, as in `GraphView`."""
    path_edges: int = 0
    """How many edges of a shortest path between the two nodes are in ``edata["path"]``, (pairs, path_edges): see
    `grpe_dgl.transforms.path_edges`. 0 leaves it out."""

    def __post_init__(self) -> None:
        check_encodings(self.encodings)
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
    encodings: tuple[str, ...] = ()
    """Positional encodings: ``("laplacian:8",)`` puts 8 eigenvectors into ``ndata["laplacian"]``; see `ENCODINGS`."""

    def __post_init__(self) -> None:
        check_encodings(self.encodings)


View = PairView | GraphView


def padded_view(view: View) -> PairView:
    """Return the pair view whose relations the padded batches of a view have.

    Of a graph view, pairs with an edge have its type, and no other distances are distinguished.
    """
    if isinstance(view, PairView):
        return view
    return PairView(max_distance=1, virtual_node=view.virtual_node, encodings=view.encodings)
