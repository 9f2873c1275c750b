"""The two layers of PNA: with towers, and the simple one of its molhiv model."""

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.pna.aggregation import aggregate
from grpe_dgl.models.pna.settings import PNASettings


class TowerMaps(nn.Module):
    """One linear map per tower: (rows, T, in) to (rows, T, out).

    Starts as the authors' layers do: Xavier's uniform distribution times 1 / in, biases zero.
    """

    def __init__(self, towers: int, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(towers, in_size, out_size))
        self.bias = nn.Parameter(torch.zeros(towers, out_size))
        for weight in self.weight:
            nn.init.xavier_uniform_(weight.detach(), 1 / in_size)


class TowerLayer(nn.Module):
    """PNA's layer. Each of T towers has its own w = hidden_size / T channels of the states h.

        m_uv = M [h_u, h_v, e_uv]                                        (a linear map per tower)
        a_v  = each scaler s of each aggregator A: s(v) A_u m_uv
        h_v <- h_v + LeakyReLU(X Drop(BN(U [h_v, a_v] / sqrt(n))))       (U per tower; n nodes in the graph)

    over the edges u -> v. M is split into parts for u, v and e: the first two are computed per node, the last per
    edge code, and the scalers act on the products with U. `dgl.nn.PNAConv` computes the same tower by tower and
    degree by degree, in Python, with other epsilons.
    """

    def __init__(self, settings: PNASettings) -> None:
        super().__init__()
        width, self.towers = settings.hidden_size, settings.towers
        self.part = width // self.towers
        self.aggregators, self.num_scalers = settings.aggregators, len(settings.scalers)
        self.graph_norm = settings.graph_norm
        blocks = 1 + len(settings.aggregators) * self.num_scalers
        self.message = TowerMaps(self.towers, 2 * self.part + settings.edge_size, self.part)
        self.update = TowerMaps(self.towers, blocks * self.part, self.part)
        self.norm = BatchNorm(width)
        self.dropout = nn.Dropout(settings.dropout)
        self.mix = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.mix.weight, 1 / width)
        nn.init.zeros_(self.mix.bias)

    def forward(self, graph: dgl.DGLGraph, x: Tensor, scales: Tensor, table: Tensor | None, root: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size).

        Parameters
        ----------
        graph
            With ``edata["feat"]`` where there is a `table`.
        x
            Node states.
        scales
            (N, scalers).
        table
            (edge codes, edge_size): the embedding of every edge code, or None.
        root
            (N, 1): the root of the number of nodes of each node's graph.
        """
        towers, w = self.towers, self.part
        by_tower = x.view(-1, towers, w).transpose(0, 1)  # (T, N, w)
        weight = self.message.weight
        source = torch.bmm(by_tower, weight[:, :w]).transpose(0, 1).reshape(len(x), -1)
        target = torch.baddbmm(self.message.bias.unsqueeze(1), by_tower, weight[:, w : 2 * w])
        message = dgl.ops.u_add_v(graph, source, target.transpose(0, 1).reshape(len(x), -1))
        if table is not None:
            of_code = table @ weight[:, 2 * w :].transpose(0, 1).flatten(1)  # (codes, hidden_size)
            message = message + F.embedding(graph.edata["feat"], of_code)

        found = aggregate(graph, message, self.aggregators)  # (N, A, T * w)
        found = found.view(len(x), -1, towers, w).permute(2, 0, 1, 3).flatten(2)  # (T, N, A * w)
        own, rest = self.update.weight[:, :w], self.update.weight[:, w:]
        rest = rest.view(towers, self.num_scalers, -1, w).transpose(1, 2).flatten(2)  # (T, A * w, S * w)
        scaled = torch.bmm(found, rest).view(towers, len(x), self.num_scalers, w)
        scaled = (scaled * scales.unsqueeze(-1)).sum(2)
        out = torch.baddbmm(self.update.bias.unsqueeze(1), by_tower, own) + scaled
        out = out.transpose(0, 1).reshape(len(x), -1)
        if self.graph_norm:
            out = out / root
        return x + F.leaky_relu(self.mix(self.dropout(self.norm(out))))


class SimpleLayer(nn.Module):
    """The layer of PNA's molhiv model: h_v <- Drop(h_v + ReLU(BN(U a_v))) with a_v of the messages h_u."""

    def __init__(self, settings: PNASettings) -> None:
        super().__init__()
        width = settings.hidden_size
        self.aggregators = settings.aggregators
        blocks = len(settings.aggregators) * len(settings.scalers)
        self.update = nn.Linear(blocks * width, width)
        nn.init.xavier_uniform_(self.update.weight, 1 / (blocks * width))
        nn.init.zeros_(self.update.bias)
        self.norm = BatchNorm(width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, graph: dgl.DGLGraph, x: Tensor, scales: Tensor, table: Tensor | None, root: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size); the arguments are those of `TowerLayer`."""
        found = aggregate(graph, x, self.aggregators, of_nodes=True).flatten(1)  # (N, A * hidden_size)
        scaled = (scales.unsqueeze(-1) * found.unsqueeze(1)).flatten(1)  # (N, S * A * hidden_size)
        return self.dropout(x + F.relu(self.norm(self.update(scaled))))
