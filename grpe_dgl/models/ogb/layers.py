"""The two convolutions of OGB's baselines, each with an embedding of the edges of its own."""

from collections.abc import Sequence

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.edges import EdgeColumns


def perceptron(hidden_size: int, expansion: int) -> list[nn.Module]:
    """Return Linear, BN, ReLU, Linear, `expansion` times as wide in the middle."""
    inner = expansion * hidden_size
    return [nn.Linear(hidden_size, inner), BatchNorm(inner), nn.ReLU(), nn.Linear(inner, hidden_size)]


class GINConvolution(nn.Module):
    """h_v <- MLP((1 + eps) h_v + sum_u ReLU(h_u + e_uv)) over the edges u -> v, with a learnt eps.

    `dgl.nn.GINEConv` computes the same, but warns of every batch without edges, such as single atoms.
    """

    def __init__(self, hidden_size: int, edge_columns: Sequence[int], expansion: int) -> None:
        super().__init__()
        self.edges = EdgeColumns(edge_columns, hidden_size)
        self.eps = nn.Parameter(torch.zeros(1))
        self.perceptron = nn.Sequential(*perceptron(hidden_size, expansion))

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size)."""
        message = F.relu(dgl.ops.u_add_e(graph, x, self.edges(graph.edata["feat"])))
        return self.perceptron((1 + self.eps) * x + dgl.ops.copy_e_sum(graph, message))


class GCNConvolution(nn.Module):
    """A graph convolution with edges, a learnt vector r in place of self-loops, and ReLU in the message.

        x_v = W h_v + b
        h_v <- sum_u ReLU(x_u + e_uv) / sqrt(d_u d_v) + ReLU(x_v + r) / d_v

    over the edges u -> v, with d one more than the out-degree.
    """

    def __init__(self, hidden_size: int, edge_columns: Sequence[int]) -> None:
        super().__init__()
        self.edges = EdgeColumns(edge_columns, hidden_size)
        self.map = nn.Linear(hidden_size, hidden_size)
        self.root = nn.Parameter(torch.randn(hidden_size))

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size)."""
        x = self.map(x)
        degree = (graph.out_degrees() + 1).to(x.dtype).unsqueeze(-1)
        scale = degree.rsqrt()
        message = F.relu(dgl.ops.u_add_e(graph, x, self.edges(graph.edata["feat"])))
        message = message * dgl.ops.copy_u(graph, scale)
        return dgl.ops.copy_e_sum(graph, message) * scale + F.relu(x + self.root) / degree
