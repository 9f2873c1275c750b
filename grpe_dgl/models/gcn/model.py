"""GCN of benchmarking-gnns: graph convolutions with batch norm and residual connections."""

from typing import Self

import dgl
from dgl.nn.pytorch import GraphConv
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.benchmark_model import BenchmarkModel
from grpe_dgl.models.gcn.settings import GCNSettings
from grpe_dgl.schema import Schema


class GCNLayer(nn.Module):
    """One graph convolution.

        h_v <- Drop(h_v + ReLU(BN(sum_u W h_u / sqrt(out(u) in(v)) + b)))

    over the edges u -> v, with the out-degree of u and the in-degree of v. No self-loops are added: a node sees itself
    through the residual connection only, and one without incoming edges gets BN(b) from the convolution.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GraphConv(hidden_size, hidden_size, norm="both", allow_zero_in_degree=True)
        self.norm = BatchNorm(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size)."""
        return self.dropout(x + F.relu(self.norm(self.convolution(graph, x))))


class GCN(BenchmarkModel):
    """GCN (Kipf and Welling) as *Benchmarking Graph Neural Networks* trains it; edge features are not read."""

    @classmethod
    def from_settings(cls, settings: GCNSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        layers = (GCNLayer(settings.hidden_size, settings.dropout) for _ in range(settings.layers))
        return cls(settings, schema, layers)
