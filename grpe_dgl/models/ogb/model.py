"""OGB's own baselines: five layers of GCN or GIN, with or without a virtual node."""

from typing import Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, per_node, pool
from grpe_dgl.models.ogb.layers import GCNConvolution, GINConvolution, perceptron
from grpe_dgl.models.ogb.settings import OGBSettings
from grpe_dgl.schema import Schema


class OGBModel(MessagePassingModel):
    """GCN or GIN of the Open Graph Benchmark (Hu et al.).

    Layer l, with a virtual node v per graph that starts as a learnt vector, zero at first:

        h = h + v                                    (of the node's graph, if there are virtual nodes)
        h' = Drop(ReLU(BN_l(convolution_l(h))))      (no ReLU in the last layer)
        v = Drop(MLP_l(v + sum of h over the graph)) (not after the last layer)

    with MLP = Linear, BN, ReLU, Linear, BN, ReLU. The virtual node sums the layer's input h, not its output. The
    prediction is a linear map of the readout.
    """

    def __init__(self, settings: OGBSettings, schema: Schema) -> None:
        super().__init__(schema, settings.hidden_size, readout=settings.readout)
        width, self.depth = settings.hidden_size, settings.layers
        self.nodes = node_input(schema, width)
        self.convolutions = nn.ModuleList(_convolution(settings, schema) for _ in range(self.depth))
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(self.depth))
        self.virtual_node = nn.Parameter(torch.zeros(width)) if settings.virtual_node else None
        updates = self.depth - 1 if settings.virtual_node else 0
        self.virtual_updates = nn.ModuleList(
            nn.Sequential(
                *perceptron(width, settings.expansion), BatchNorm(width), nn.ReLU(), nn.Dropout(settings.dropout)
            )
            for _ in range(updates)
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: OGBSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        first = self.convolutions[0]
        assert isinstance(first, GCNConvolution | GINConvolution)
        first.edges.check(graph.edata["feat"])
        virtual = None if self.virtual_node is None else self.virtual_node.expand(graph.batch_size, -1)
        hidden = []
        for number, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            if virtual is not None:
                x = x + per_node(graph, virtual)
            new = norm(convolution(graph, x))
            last = number == self.depth - 1
            new = self.dropout(new if last else F.relu(new))
            if virtual is not None and not last:
                virtual = self.virtual_updates[number](pool(graph, x, "sum") + virtual)
            x = new
            hidden.append(x)
        return hidden


def _convolution(settings: OGBSettings, schema: Schema) -> GCNConvolution | GINConvolution:
    if settings.CONVOLUTION == "gcn":
        return GCNConvolution(settings.hidden_size, schema.edge_columns)
    return GINConvolution(settings.hidden_size, schema.edge_columns, settings.expansion)
