"""PHC-GNN: from a graph to predictions."""

from typing import Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, pool, softmax_sum
from grpe_dgl.models.nodes import NodeColumns
from grpe_dgl.models.phc.linear import HypercomplexLinear
from grpe_dgl.models.phc.settings import PHCSettings
from grpe_dgl.schema import Schema


class PHC(MessagePassingModel):
    """PHC-GNN (Le et al., 2021): message passing with parametrised hypercomplex linear maps.

    Vectors are n blocks of hidden_size / n. Per layer, with x the embedding of the nodes and D dropout::

        h <- D(ReLU(BN(Conv(h)))) + x               skip "first"; "last" adds the layer's input instead

    The readout is the sum over nodes of h times a gate, which a graph's nodes compute each for themselves
    (`SoftAttention`); the head has hypercomplex layers and one ordinary linear map at its end. The authors also remove
    atoms without bonds from their molecules; here they stay.
    """

    def __init__(self, settings: PHCSettings, schema: Schema) -> None:
        super().__init__(schema, settings.hidden_size, readout="sum")
        self.depth = settings.layers
        self.skip = settings.skip
        self.nodes = node_input(schema, settings.hidden_size)
        if isinstance(self.nodes, NodeColumns):
            _init_blocks(self.nodes.embedding, self.nodes.sizes, settings.components)
        self.convolutions = nn.ModuleList(PHCConvolution(settings, schema.edge_columns) for _ in range(self.depth))
        self.norms = nn.ModuleList(BatchNorm(settings.hidden_size) for _ in range(self.depth))
        self.dropout = nn.Dropout(settings.dropout)
        self.pooling = SoftAttention(settings.components, settings.hidden_size)
        self.head = _head(settings, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: PHCSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        embedded = x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        hidden = []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            y = self.dropout(F.relu(norm(convolution(graph, x))))
            x = y + (embedded if self.skip == "first" else x)
            hidden.append(x)
        return hidden

    def weight_norm(self) -> Tensor:
        """Return the sum over hypercomplex maps of the mean L2 norm over the n components of W's entries."""
        maps = [module for module in self.modules() if isinstance(module, HypercomplexLinear)]
        return torch.stack([module.weight.norm(dim=0).mean() for module in maps]).sum()

    def pool(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (graphs, hidden_size): the gated sum of node states (N, hidden_size)."""
        return pool(graph, self.pooling(x), self.readout)


class PHCConvolution(nn.Module):
    """MLP(h_v + A) with two hypercomplex maps, or h_v + Map(A) with one; A aggregates the messages h_u + e_uv.

    The aggregation is the sum, or channel by channel the sum weighted by the softmax of beta times the messages, with
    beta learned.
    """

    def __init__(self, settings: PHCSettings, edge_columns: tuple[int, ...]) -> None:
        super().__init__()
        n, width = settings.components, settings.hidden_size
        self.edges = EdgeColumns(edge_columns, width)
        _init_blocks(self.edges.embedding, self.edges.sizes, n)
        self.beta = nn.Parameter(torch.ones(())) if settings.aggregation == "softmax" else None
        self.first = HypercomplexLinear(n, width, width)
        self.norm = BatchNorm(width) if settings.mlp else None
        self.second = HypercomplexLinear(n, width, width) if settings.mlp else None

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (N, hidden_size) for node states x of the same shape."""
        edges = self.edges(self.edges.check(graph.edata["feat"]))
        message = dgl.ops.u_add_e(graph, x, edges)
        if self.beta is None:
            total = dgl.ops.copy_e_sum(graph, message)
        else:
            total = softmax_sum(graph, message, self.beta)
        if self.norm is None or self.second is None:
            return x + self.first(total)
        return self.second(F.relu(self.norm(self.first(x + total))))


class SoftAttention(nn.Module):
    """Multiply each block of a node's vector with the gate sigmoid(Linear(Map(h))), the same for all n blocks."""

    def __init__(self, components: int, hidden_size: int) -> None:
        super().__init__()
        self.components = components
        self.map = HypercomplexLinear(components, hidden_size, hidden_size)
        self.linear = nn.Linear(hidden_size, hidden_size // components)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, hidden_size)."""
        return x * torch.sigmoid(self.linear(self.map(x))).repeat(1, self.components)


def _head(settings: PHCSettings, outputs: int) -> nn.Sequential:
    """Return hypercomplex layers with batch norm, ReLU and dropout, and an ordinary linear map after the last."""
    n, parts, width = settings.components, list[nn.Module](), settings.hidden_size
    for size, dropout in zip(settings.head_sizes, settings.head_dropout, strict=True):
        parts += [HypercomplexLinear(n, width, size), BatchNorm(size), nn.ReLU(), nn.Dropout(dropout)]
        width = size
    return nn.Sequential(*parts, HypercomplexLinear(n, width, n * outputs), nn.Linear(n * outputs, outputs))


def _init_blocks(embedding: nn.Embedding, sizes: tuple[int, ...], components: int) -> None:
    """Initialise a table as n tables of a block each, with Xavier's uniform distribution per column and block."""
    with torch.no_grad():
        for rows in embedding.weight.split(list(sizes)):
            for block in rows.chunk(components, -1):
                nn.init.xavier_uniform_(block)
