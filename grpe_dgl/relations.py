r"""The codes of a pair of nodes: the values of its distance and its edge, and the relation that combines the two.

For a query node i and a key node j, with L = ``max_distance`` and E = ``num_edge_types``:

- ``spd``, the topological relation psi(i, j): 0..L is the exact shortest-path distance, then FAR (more than L),
  UNREACHABLE and VIRTUAL (the pair involves the virtual node).
- ``edge``, the edge relation e(i, j): 0..E-1 is the type of the edge, then SELF (i = j), NONE and VIRTUAL.

A typed edge exists only at distance 1, SELF only at 0, and VIRTUAL takes both codes at once, so the pair
(spd, edge) is one small integer::

    relation = edge       if there is an edge,
               E + 1      if the pair involves the virtual node,
               E + spd    otherwise.

A pair at distance 1 always has an edge, so E + 1 is free for the virtual node and no number is wasted.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError

UNREACHABLE = 255
"""The stored distance byte of a pair with no path."""
LARGEST_DISTANCE = 253
"""The largest distance stored exactly; LARGEST_DISTANCE + 1 = 254 means "longer"."""
MAX_DISTANCE_LIMIT = 252  # the largest L: its four codes after L still fit one byte


@dataclass(frozen=True)
class Relations:
    """The codes for one choice of ``max_distance`` (L, 1..252) and ``num_edge_types`` (E, at least 1)."""

    max_distance: int
    num_edge_types: int

    def __post_init__(self) -> None:
        if not 1 <= self.max_distance <= MAX_DISTANCE_LIMIT:
            raise InputError(f"max_distance is {self.max_distance}; accepted: 1..{MAX_DISTANCE_LIMIT}")
        if self.num_edge_types < 1:
            raise InputError(f"num_edge_types is {self.num_edge_types}; accepted: 1 or more")

    @property
    def spd_far(self) -> int:
        """The ``spd`` code of a distance over L."""
        return self.max_distance + 1

    @property
    def spd_unreachable(self) -> int:
        """The ``spd`` code of a pair with no path."""
        return self.max_distance + 2

    @property
    def spd_virtual(self) -> int:
        """The ``spd`` code of a pair that involves the virtual node."""
        return self.max_distance + 3

    @property
    def edge_self(self) -> int:
        """The ``edge`` code of a node with itself."""
        return self.num_edge_types

    @property
    def edge_none(self) -> int:
        """The ``edge`` code of two nodes without an edge."""
        return self.num_edge_types + 1

    @property
    def edge_virtual(self) -> int:
        """The ``edge`` code of a pair that involves the virtual node."""
        return self.num_edge_types + 2

    @property
    def num_spd(self) -> int:
        """How many ``spd`` codes there are: the rows of P."""
        return self.max_distance + 4

    @property
    def num_edge(self) -> int:
        """How many ``edge`` codes there are: the rows of E."""
        return self.num_edge_types + 3

    @property
    def own(self) -> int:
        """The ``relation`` of a node with itself."""
        return self.num_edge_types

    @property
    def virtual(self) -> int:
        """The ``relation`` of a pair that involves the virtual node."""
        return self.num_edge_types + 1

    def __len__(self) -> int:
        """How many relations there are: R, the rows of T."""
        return self.num_edge_types + self.max_distance + 3

    def spd_of_distance(self) -> npt.NDArray[np.int32]:
        """Return the ``spd`` code of every distance byte of `grpe_dgl.transforms.shortest_paths`, shape (256,)."""
        spd = np.minimum(np.arange(256, dtype=np.int32), self.spd_far)
        spd[UNREACHABLE] = self.spd_unreachable
        return spd

    def relation_of_distance(self) -> npt.NDArray[np.int32]:
        """Return the ``relation`` of a pair without an edge for every distance byte, shape (256,)."""
        return self.spd_of_distance() + np.int32(self.num_edge_types)

    def split(self, relation: npt.NDArray[np.int32], names: tuple[str, ...]) -> dict[str, npt.NDArray[np.int32]]:
        """Return some of the codes ``relation``, ``spd`` and ``edge`` of pairs whose relations are given."""
        tables = {"spd": self.spd_of_relation, "edge": self.edge_of_relation}
        return {name: relation if name == "relation" else tables[name]().astype(np.int32)[relation] for name in names}

    def spd_of_relation(self) -> npt.NDArray[np.int64]:
        """Return the ``spd`` code of every relation, shape (R,)."""
        spd = np.arange(len(self)) - self.num_edge_types
        spd[: self.num_edge_types] = 1
        spd[self.virtual] = self.spd_virtual
        return spd

    def edge_of_relation(self) -> npt.NDArray[np.int64]:
        """Return the ``edge`` code of every relation, shape (R,)."""
        edge = np.full(len(self), self.edge_none)
        edge[: self.num_edge_types] = np.arange(self.num_edge_types)
        edge[self.num_edge_types] = self.edge_self
        edge[self.virtual] = self.edge_virtual
        return edge
