"""GIN of benchmarking-gnns: sums of neighbours through a perceptron, every layer's states read out."""

from typing import Self

import dgl
import torch
from dgl.nn.pytorch import GINConv
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.benchmark_model import BenchmarkModel
from grpe_dgl.models.gin.settings import GINSettings
from grpe_dgl.schema import Schema


class GINLayer(nn.Module):
    """One convolution, `dgl.nn.GINConv` with a learnt eps.

        h_v <- Drop(h_v + ReLU(BN(MLP((1 + eps) h_v + sum_u h_u))))

    over the edges u -> v; MLP = Linear, BN, ReLU, Linear.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        perceptron = nn.Sequential(
            nn.Linear(hidden_size, hidden_size),
            BatchNorm(hidden_size),
            nn.ReLU(),
            nn.Linear(hidden_size, hidden_size),
        )
        self.convolution = GINConv(perceptron, "sum", init_eps=0, learn_eps=True)
        self.norm = BatchNorm(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size)."""
        return self.dropout(x + F.relu(self.norm(self.convolution(graph, x))))


class GIN(BenchmarkModel):
    """GIN (Xu et al.) as *Benchmarking Graph Neural Networks* trains it; edge features are not read.

    The prediction is the sum over the input embedding and every layer's states h_i of Linear_i(readout(h_i)).
    """

    @classmethod
    def from_settings(cls, settings: GINSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        layers = (GINLayer(settings.hidden_size, settings.dropout) for _ in range(settings.layers))
        model = cls(settings, schema, layers)
        outputs = schema.task.num_outputs
        model.head = nn.ModuleList(nn.Linear(settings.hidden_size, outputs) for _ in range(settings.layers + 1))
        return model

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """Predict: (graphs, outputs) for a graph task, (nodes, outputs) for a node task."""
        states = self.encode_all(graph)
        reads = [read for read in self.head.children() if isinstance(read, nn.Linear)]
        # A readout is linear: reading out the few outputs costs less than reading out every layer's states.
        outputs = torch.stack([F.linear(x, read.weight) for x, read in zip(states, reads, strict=True)]).sum(0)
        if self.level == "graph":
            outputs = self.pool(graph, outputs)
        return outputs + torch.stack([read.bias for read in reads]).sum(0)

    def encode_all(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return the input embedding and the states after every layer, (N, hidden_size) each."""
        states = [self.embed(graph)]
        for layer in self.layers:
            states.append(layer(graph, states[-1]))
        return states

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        return self.encode_all(graph)[1:]
