"""DeeperGCN: from a graph to predictions."""

from typing import Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.deepergcn.settings import DeeperGCNSettings
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, per_node, pool, softmax_sum
from grpe_dgl.schema import Schema


class DeeperGCN(MessagePassingModel):
    r"""DeeperGCN (Li et al., 2020) with blocks of the kind ``res+``.

    h_1 = Conv_1(x), and for every further layer, with D dropout::

        a = D(ReLU(BN(h_l)))
        h_{l+1} = h_l + Conv_{l+1}(a)

    The readout is the mean over nodes of D(BN(h_L)), followed by a linear map. With a virtual node its vector v is
    added to x and to every a; before that it becomes v <- D(MLP(v + sum of a over the nodes)). FLAG, which some of the
    published runs use, is a way to train and no part of the model.
    """

    def __init__(self, settings: DeeperGCNSettings, schema: Schema) -> None:
        width = settings.hidden_size
        super().__init__(schema, width)
        self.depth = settings.layers
        self.nodes = node_input(schema, width)
        self.convolutions = nn.ModuleList(
            GeneralisedConvolution(settings, schema.edge_columns) for _ in range(self.depth)
        )
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(self.depth))
        self.dropout = nn.Dropout(settings.dropout)
        self.virtual_node = nn.Parameter(torch.zeros(width)) if settings.virtual_node else None
        self.virtual_updates = nn.ModuleList(
            nn.Sequential(*linear_norm_relu(width, width), *linear_norm_relu(width, width))
            for _ in range(self.depth - 1 if settings.virtual_node else 0)
        )
        self.head = nn.Linear(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: DeeperGCNSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each, the last after its norm."""
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        virtual = None
        if self.virtual_node is not None:
            virtual = self.virtual_node.expand(graph.batch_size, -1)
            x = x + per_node(graph, virtual)
        x = self.convolutions[0](graph, x)
        hidden = [x]
        for layer in range(1, self.depth):
            y = self.dropout(F.relu(self.norms[layer - 1](x)))
            if virtual is not None:
                virtual = self.dropout(self.virtual_updates[layer - 1](virtual + pool(graph, y, "sum")))
                y = y + per_node(graph, virtual)
            x = x + self.convolutions[layer](graph, y)
            hidden.append(x)
        hidden[-1] = self.dropout(self.norms[-1](x))
        return hidden


class GeneralisedConvolution(nn.Module):
    """GENConv: MLP(h_v + sum_u softmax_u(t m_uv) m_uv) with m_uv = ReLU(h_u + e_uv) + 1e-7, channel by channel.

    e is the convolution's own embedding of edges, t the temperature. The MLP has batch norm and ReLU between its maps.
    """

    def __init__(self, settings: DeeperGCNSettings, edge_columns: tuple[int, ...]) -> None:
        super().__init__()
        self.edges = EdgeColumns(edge_columns, settings.hidden_size)
        self.detach = settings.aggregation == "softmax_sg"
        start = torch.full((1,), settings.temperature)
        self.temperature: Tensor | float = nn.Parameter(start) if settings.learn_temperature else settings.temperature
        widths = settings.mlp_widths
        parts: list[nn.Module] = []
        for inner, outer in zip(widths[:-2], widths[1:-1], strict=True):
            parts += linear_norm_relu(inner, outer)
        self.mlp = nn.Sequential(*parts, nn.Linear(widths[-2], widths[-1]))

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (N, hidden_size) for node states x of the same shape."""
        edges = self.edges(self.edges.check(graph.edata["feat"]))
        message = F.relu(dgl.ops.u_add_e(graph, x, edges)) + 1e-7
        return self.mlp(x + softmax_sum(graph, message, self.temperature, detach=self.detach))


def linear_norm_relu(inner: int, outer: int) -> list[nn.Module]:
    """Return a linear map, its batch norm and ReLU."""
    return [nn.Linear(inner, outer), BatchNorm(outer), nn.ReLU()]
