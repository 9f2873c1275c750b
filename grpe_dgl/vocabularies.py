"""The vocabularies that several datasets share: how many values each node and edge column has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Vocabulary:
    """The integer columns of nodes and edges."""

    node_columns: tuple[int, ...]
    """How many values each node column has."""
    edge_columns: tuple[int, ...]
    """How many values each edge column has; an edge's type is its columns read as a mixed-radix number."""


VOCABULARIES: dict[str, Vocabulary] = {
    "ogb": Vocabulary(node_columns=(119, 5, 12, 12, 10, 6, 6, 2, 2), edge_columns=(5, 6, 2)),  # OGB's atoms and bonds
    "zinc": Vocabulary(node_columns=(28,), edge_columns=(4,)),  # bonds are 1..3; the publisher keeps 0 for "none"
    "pattern": Vocabulary(node_columns=(3,), edge_columns=(1,)),
    "cluster": Vocabulary(node_columns=(7,), edge_columns=(1,)),
}


def edge_columns_of(vocabulary: str, num_edge_types: int) -> tuple[int, ...]:
    """Return the edge columns of a file that names only its number of edge types, as version 0.1 wrote them."""
    known = VOCABULARIES.get(vocabulary)
    if vocabulary == "ogb" and known is not None and num_edge_types == 60:
        return known.edge_columns
    return (num_edge_types,)
