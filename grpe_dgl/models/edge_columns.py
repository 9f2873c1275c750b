"""Vectors of edge types."""

import torch
from torch import Tensor
from torch.nn import functional as F

from grpe_dgl.models.nodes import NodeColumns
from grpe_dgl.schema import Schema


class EdgeColumns(NodeColumns):
    """Embed edge codes: the sum over edge columns of the row for the code's value in that column.

    Parameters
    ----------
    schema
        Its edge columns are embedded.
    hidden_size
        Width of the result.
    """

    columns: Tensor  # (E, edge columns): the values of every code

    def __init__(self, schema: Schema, hidden_size: int) -> None:
        super().__init__(schema.edge_columns, hidden_size)
        columns = torch.stack(schema.decode_edges(torch.arange(schema.num_edge_types)), -1)
        self.register_buffer("columns", columns, persistent=False)

    def table(self) -> Tensor:
        """Return the vector of every code, (E, hidden_size)."""
        return super().forward(self.columns)

    def forward(self, code: Tensor) -> Tensor:
        """Return (..., hidden_size) for integer codes (...)."""
        return F.embedding(code, self.table())
