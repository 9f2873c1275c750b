"""What the families that pass messages along the graph's own edges have in common."""

from collections.abc import Sequence
from typing import ClassVar

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.edges import init_columns
from grpe_dgl.models.model import GraphModel
from grpe_dgl.models.nodes import NodeColumns, NodeVectors
from grpe_dgl.schema import Schema


class MessagePassingModel(GraphModel):
    """Node states through layers, a readout per graph, and a head.

    A family defines `encode` and sets `head` and `depth`. For a node task the head reads every node's last state.

    Parameters
    ----------
    schema
        The form of the graphs and the task.
    hidden_size
        Width of node states.
    readout
        ``"mean"`` or ``"sum"`` over the nodes of a graph.
    """

    reads: ClassVar = "graph"
    head: nn.Module
    depth: int
    """How many layers there are."""

    def __init__(self, schema: Schema, hidden_size: int, *, readout: str = "mean") -> None:
        super().__init__()
        self.level = schema.task.level
        self.hidden_size = hidden_size
        self.readout = readout

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each; the readout takes the last."""
        raise NotImplementedError

    def pool(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return (graphs, hidden_size): the readout of node states (N, hidden_size)."""
        return pool(graph, x, self.readout)

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """Predict: (graphs, outputs) for a graph task, (nodes, outputs) for a node task."""
        x = self.encode(graph)[-1]
        return self.head(self.pool(graph, x) if self.level == "graph" else x)

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return self.depth

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * self.hidden_size

    def fingerprint(self, graph: dgl.DGLGraph, layers: int) -> Tensor:
        """Return the readout of the states after each of the last `layers` layers, (graphs, size)."""
        pooled = [self.pool(graph, x).float() for x in self.encode(graph)[-layers:]]
        return torch.cat([F.normalize(x, dim=-1) for x in pooled], -1)


def pool(graph: dgl.DGLGraph, x: Tensor, how: str) -> Tensor:
    """Return the sum or mean of node rows (N, width) over each graph, (graphs, width)."""
    return dgl.ops.segment_reduce(graph.batch_num_nodes(), x, reducer=how)


def per_node(graph: dgl.DGLGraph, x: Tensor) -> Tensor:
    """Return (N, width): each node's row of (graphs, width)."""
    return x.repeat_interleave(graph.batch_num_nodes(), 0)


def softmax_sum(graph: dgl.DGLGraph, message: Tensor, scale: Tensor | float, *, detach: bool = False) -> Tensor:
    """Return for each node and channel the sum of incoming messages weighted by their softmax, (N, width).

    With messages m of a node's incoming edges: sum_u softmax_u(scale m_u) m_u, zero where there are none.

    Parameters
    ----------
    graph
        N nodes.
    message
        (edges, width).
    scale
        A number, or a tensor of one.
    detach
        Whether no gradient flows through the weights.
    """
    weight = dgl.ops.edge_softmax(graph, scale * (message.detach() if detach else message))
    return dgl.ops.copy_e_sum(graph, weight * message)


def node_input(schema: Schema, hidden_size: int) -> NodeColumns | NodeVectors:
    """Return the embedding of a schema's nodes; tables start as OGB's atom encoder does."""
    if schema.node_vocabulary is None:
        return NodeVectors(int(schema.node_features or 0), hidden_size)
    columns = NodeColumns(schema.node_vocabulary, hidden_size)
    init_columns(columns.embedding, columns.sizes)
    return columns


def require_data(graph: dgl.DGLGraph, frame: str, keys: Sequence[str]) -> None:
    """Raise unless ``ndata`` or ``edata`` of a graph, `frame`, has some keys."""
    missing = [key for key in keys if key not in getattr(graph, frame)]
    if missing:
        raise InputError(
            f'the graph has no {frame}["{missing[0]}"], which the model reads; open the dataset with the view of the '
            "model's settings"
        )
