"""GCN-GraphNorm: from a graph to predictions."""

from typing import Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.graphnorm.settings import GraphNormSettings
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, per_node, pool
from grpe_dgl.schema import Schema


class GraphNormGCN(MessagePassingModel):
    r"""GCN with GraphNorm (Cai et al., 2021) as its authors' code for OGB computes it.

    Per layer, with e the embedding of an edge (each layer has its own)::

        h_v <- h_v + ReLU(GraphNorm(W (h_v + mean_u (h_u + e_uv)) + b))

    without ReLU in the last layer; then the mean over nodes and a linear map, whose outputs get the dropout in
    training. The code's ``n_layers`` 5 stands for four of these layers, which is what ``preset: molhiv`` builds
    (431,701 parameters; five would have 526,501, near the 526K that is reported).
    """

    def __init__(self, settings: GraphNormSettings, schema: Schema) -> None:
        super().__init__(schema, settings.hidden_size)
        self.depth = settings.layers
        self.nodes = node_input(schema, settings.hidden_size)
        self.layers = nn.ModuleList(
            GraphNormLayer(schema.edge_columns, settings.hidden_size) for _ in range(settings.layers)
        )
        self.head = nn.Sequential(
            nn.Linear(settings.hidden_size, schema.task.num_outputs), nn.Dropout(settings.dropout)
        )

    @classmethod
    def from_settings(cls, settings: GraphNormSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        hidden: list[Tensor] = []
        for layer in self.layers:
            y = layer(graph, x)
            x = x + (F.relu(y) if len(hidden) + 1 < self.depth else y)
            hidden.append(x)
        return hidden


class GraphNormLayer(nn.Module):
    """The mean of neighbours and edges, a linear map and the norm; activation and residual are the model's."""

    def __init__(self, edge_columns: tuple[int, ...], hidden_size: int) -> None:
        super().__init__()
        self.edges = EdgeColumns(edge_columns, hidden_size)
        self.linear = nn.Linear(hidden_size, hidden_size)
        self.norm = GraphNorm(hidden_size)

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (N, hidden_size) for node states x of the same shape."""
        edges = self.edges(self.edges.check(graph.edata["feat"]))
        message = dgl.ops.u_add_e(graph, x, edges)
        return self.norm(graph, self.linear(x + dgl.ops.copy_e_mean(graph, message)))


class GraphNorm(nn.Module):
    """Normalise each channel over the nodes of a graph: (x - mean) / sqrt(variance + eps) * weight + bias.

    The variance is the biased one. The paper's GraphNorm also learns how much of the mean is subtracted; the authors'
    code for OGB, and this, subtract all of it.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (N, hidden_size)."""
        centred = x - per_node(graph, pool(graph, x, "mean"))
        variance = pool(graph, centred.square(), "mean")
        return centred * per_node(graph, torch.rsqrt(variance + self.eps)) * self.weight + self.bias
