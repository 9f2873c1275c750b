"""The convolutions of GINE, over edges, and of GINE+, over pairs of nodes at each distance."""

from collections.abc import Sequence

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm


class GINEConvolution(nn.Module):
    """MLP((1 + eps) x_v + sum_u ReLU(x_u + e_uv)) with a learned number eps.

    This is `dgl.nn.pytorch.GINEConv` without its message function in Python, for which DGL warns about batches without
    edges (a molecule of one atom).
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = two_layers(hidden_size)

    def forward(self, graph: dgl.DGLGraph, x: Tensor, edges: Tensor) -> Tensor:
        """Return (N, hidden_size) for node states x of the same shape and embeddings of edges (edges, hidden_size)."""
        message = F.relu(dgl.ops.u_add_e(graph, x, edges))
        return self.mlp((1 + self.eps) * x + dgl.ops.copy_e_sum(graph, message))


class GINEPlusConvolution(nn.Module):
    """MLP((1 + w_0) x_0[v] + sum_j (1 + w_j) sum_u ReLU(x_{j-1}[u] + e_uv)) with j = 1..radius.

    u runs over the nodes at distance j of v; x_0 is the layer's input, x_j that of the j-th layer before it. The edge's
    embedding e is there for j = 1 only. The weights w are vectors, one per distance.

    Parameters
    ----------
    hidden_size
        Width of node states.
    radius
        The largest distance.
    """

    def __init__(self, hidden_size: int, radius: int) -> None:
        super().__init__()
        self.radius = radius
        self.weight = nn.Parameter(torch.zeros(radius + 1, hidden_size))
        self.mlp = two_layers(hidden_size)

    def forward(self, graphs: Sequence[dgl.DGLGraph], inputs: Sequence[Tensor], edges: Tensor) -> Tensor:
        """Return (N, hidden_size).

        Parameters
        ----------
        graphs
            The pairs at distance 1, 2, and so on, as edges u -> v.
        inputs
            Inputs of this layer, of the one before it, and so on, (N, hidden_size) each.
        edges
            (edges of the first graph, hidden_size): their embeddings.
        """
        x = (1 + self.weight[0]) * inputs[0]
        near = F.relu(dgl.ops.u_add_e(graphs[0], inputs[0], edges))
        x = x + (1 + self.weight[1]) * dgl.ops.copy_e_sum(graphs[0], near)
        for distance in range(2, self.radius + 1):
            far = dgl.ops.copy_u_sum(graphs[distance - 1], F.relu(inputs[distance - 1]))
            x = x + (1 + self.weight[distance]) * far
        return self.mlp(x)


def graphs_by_distance(pairs: dgl.DGLGraph, radius: int) -> tuple[list[dgl.DGLGraph], Tensor]:
    """Return the graphs of the pairs at distance 1..radius, and the codes of the edges of the first, (edges,)."""
    spd, (key, query) = pairs.edata["spd"], pairs.edges()
    graphs = []
    for distance in range(1, radius + 1):
        places = (spd == distance).nonzero().squeeze(-1)
        if distance == 1:
            codes = pairs.edata["edge"][places]
        graphs.append(dgl.graph((key[places], query[places]), num_nodes=pairs.num_nodes()))
    return graphs, codes


def two_layers(width: int) -> nn.Sequential:
    """Return the MLP of both convolutions: to twice the width and back, with batch norm and ReLU between."""
    return nn.Sequential(nn.Linear(width, 2 * width), BatchNorm(2 * width), nn.ReLU(), nn.Linear(2 * width, width))
