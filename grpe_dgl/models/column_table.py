"""Embedding tables of published codes, whose columns begin at rows of their own and which have rows for padding."""

from collections.abc import Sequence

import torch
from torch import nn

from grpe_dgl.models.nodes import NodeColumns, NodeVectors
from grpe_dgl.schema import Schema


class ColumnTable(NodeColumns):
    """Embed integer columns with one table: the sum over columns f of row ``first_rows[f] + x[f]``.

    Parameters
    ----------
    sizes
        How many values each column has.
    hidden_size
        Width of the result.
    first_rows
        The row of value 0 of each column.
    rows
        How many rows the table has, those that no value uses included.
    """

    def __init__(self, sizes: Sequence[int], hidden_size: int, *, first_rows: Sequence[int], rows: int) -> None:
        super().__init__(sizes, hidden_size)
        self.embedding = nn.Embedding(rows, hidden_size)
        self.register_buffer("first_row", torch.tensor(list(first_rows)), persistent=False)


def node_table(schema: Schema, hidden_size: int, *, first_rows: Sequence[int], rows: int) -> NodeColumns | NodeVectors:
    """Return the `ColumnTable` of a schema's nodes, or a linear map where they have continuous features."""
    if schema.node_vocabulary is not None:
        return ColumnTable(schema.node_vocabulary, hidden_size, first_rows=first_rows, rows=rows)
    return NodeVectors(int(schema.node_features or 0), hidden_size)
