"""The rows of the authors' tables that correspond to our node values and edge types."""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.molecules.columns import bond_columns
from grpe_dgl.errors import InputError
from grpe_dgl.vocabularies import VOCABULARIES

OGB_ROWS_PER_COLUMN = 512  # the authors' node table has that many for every atom column, whatever the column needs
OGB_ROWS = 1 + OGB_ROWS_PER_COLUMN * len(VOCABULARIES["ogb"].node_columns)
ZINC_ROWS = 25  # types 24 to 27 have none
_BOND_WEIGHTS = np.array([1, 4, 16])  # their bond code is type + 4 * stereo + 16 * conjugated: different bonds collide


@dataclass(frozen=True)
class Vocabulary:
    """The node values and edge types of our data, with the rows and codes that the authors' code has for them."""

    name: str
    node_vocabulary: tuple[int, ...]
    node_rows: npt.NDArray[np.int64]
    """(sum of node_vocabulary,): the row of their node table, which may be one they do not have."""
    edge_codes: npt.NDArray[np.int64]
    """(num_edge_types,): their code, which may be one they do not have."""
    table_sizes: tuple[int, ...]
    """How many rows their node table may have."""

    @property
    def num_edge_types(self) -> int:
        """How many edge types we have."""
        return len(self.edge_codes)

    def node_value(self, row: int) -> str:
        """Describe the value and the column of one of our rows."""
        for column, size in enumerate(self.node_vocabulary):
            if row < size:
                return f"node value {row}" + (f" of column {column}" if len(self.node_vocabulary) > 1 else "")
            row -= size
        raise IndexError(row)

    def edge_type(self, code: int) -> str:
        """Describe one of our edge types."""
        if self.name != "ogb":
            return f"edge type {code}"
        kind, stereo, conjugated = bond_columns(np.array(code)).tolist()
        return f"edge type {code} (bond type {kind}, stereo {stereo}, conjugated {conjugated})"


def plain_vocabulary(name: str, values: int, edge_types: int) -> Vocabulary:
    """Return one column of node values in rows 1, 2, ..., and edge types that are their codes."""
    sizes = (values + 1, ZINC_ROWS) if name == "zinc" else (values + 1,)
    return Vocabulary(name, (values,), np.arange(values) + 1, np.arange(edge_types), sizes)


def known_vocabulary(name: str) -> Vocabulary:
    """Return the vocabulary called `name`: ogb, zinc, pattern or cluster."""
    if name not in VOCABULARIES:
        raise InputError(f"vocabulary is {name!r}; accepted: {', '.join(VOCABULARIES)}")
    columns = VOCABULARIES[name]
    edge_types = prod(columns.edge_columns)
    if name != "ogb":
        (values,) = columns.node_columns
        return plain_vocabulary(name, values, edge_types)
    rows = [np.arange(size) + 1 + OGB_ROWS_PER_COLUMN * column for column, size in enumerate(columns.node_columns)]
    codes = bond_columns(np.arange(edge_types)) @ _BOND_WEIGHTS
    return Vocabulary(name, columns.node_columns, np.concatenate(rows), codes, (OGB_ROWS,))


def guess_vocabulary(node_rows: int, edge_codes: int) -> Vocabulary:
    """Return the vocabulary that tables of these sizes were made for, for use without a dataset's name.

    Parameters
    ----------
    node_rows
        Rows of the authors' node table: 4,609 for OGB's atoms, 25 for ZINC, else one column of values in rows 1, 2, ...
    edge_codes
        K, the edge codes they have.
    """
    if node_rows == OGB_ROWS:
        return known_vocabulary("ogb")
    if node_rows == ZINC_ROWS:
        return known_vocabulary("zinc")
    return plain_vocabulary("custom", node_rows - 1, edge_codes)
