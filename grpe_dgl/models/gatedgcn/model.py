"""GatedGCN of benchmarking-gnns: neighbours weighted by gates that edges carry from layer to layer."""

from typing import Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.benchmark_model import BenchmarkModel
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.gatedgcn.settings import GatedGCNSettings
from grpe_dgl.ops.gated_edges import gated_edges, is_supported
from grpe_dgl.schema import Schema

EPSILON = 1e-6


class GatedGCNLayer(nn.Module):
    """One gated convolution of node states h and edge states e.

        g_uv = C e_uv + D h_u + E h_v
        h_v <- Drop(h_v + ReLU(BN(A h_v + sum_u s(g_uv) * B h_u / (sum_u s(g_uv) + 1e-6))))
        e_uv <- Drop(e_uv + ReLU(BN(g_uv)))

    over the edges u -> v, with the sigmoid s; products and quotient are per channel. A, B, C, D, E have biases.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.self_map = nn.Linear(hidden_size, hidden_size)  # A
        self.neighbour_map = nn.Linear(hidden_size, hidden_size)  # B
        self.edge_gate = nn.Linear(hidden_size, hidden_size)  # C
        self.source_gate = nn.Linear(hidden_size, hidden_size)  # D
        self.target_gate = nn.Linear(hidden_size, hidden_size)  # E
        self.node_norm = BatchNorm(hidden_size)
        self.edge_norm = BatchNorm(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, graph: dgl.DGLGraph, x: Tensor, edge: Tensor, *, update_edges: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Return new node states (N, hidden_size) and edge states (edges, hidden_size).

        Without `update_edges`, for the last layer, the edge states are returned as they are.
        """
        own, neighbour, source, target = self._node_maps(x)
        gate_weight, target = self.edge_gate.weight, target + self.edge_gate.bias
        if is_supported(edge, gate_weight, source, target, neighbour):
            gate, total, weights = gated_edges(graph, edge, gate_weight, source, target, neighbour)
        else:
            gate = F.linear(edge, gate_weight) + dgl.ops.u_add_v(graph, source, target)
            opened = torch.sigmoid(gate)
            total, weights = dgl.ops.u_mul_e_sum(graph, neighbour, opened), dgl.ops.copy_e_sum(graph, opened)
        mean = total / (weights + EPSILON)
        x = self.dropout(x + F.relu(self.node_norm(own + mean)))
        if update_edges:
            edge = self.dropout(edge + F.relu(self.edge_norm(gate)))
        return x, edge

    def _node_maps(self, x: Tensor) -> list[Tensor]:
        """Return A x, B x, D x and E x, (N, hidden_size) each, by a single product: faster than four."""
        maps = (self.self_map, self.neighbour_map, self.source_gate, self.target_gate)
        weight, bias = torch.cat([each.weight for each in maps]), torch.cat([each.bias for each in maps])
        return [part.contiguous() for part in F.linear(x, weight, bias).chunk(4, -1)]


class GatedGCN(BenchmarkModel):
    """GatedGCN (Bresson and Laurent) as *Benchmarking Graph Neural Networks* trains it.

    The norm of the last layer's edge states has parameters, as in the original, although nothing reads its result.
    """

    edges: EdgeColumns | nn.Linear
    _ddp_params_and_buffers_to_ignore: list[str]
    """Read by `DistributedDataParallel`, which would wait for gradients of every other parameter."""

    @classmethod
    def from_settings(cls, settings: GatedGCNSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        width = settings.hidden_size
        model = cls(settings, schema, (GatedGCNLayer(width, settings.dropout) for _ in range(settings.layers)))
        if settings.edges:
            model.edges = EdgeColumns(schema.edge_columns, width)
            nn.init.normal_(model.edges.embedding.weight)
        else:
            model.edges = nn.Linear(1, width)
        unused = f"layers.{settings.layers - 1}.edge_norm"
        model._ddp_params_and_buffers_to_ignore = [f"{unused}.weight", f"{unused}.bias"]
        return model

    def embed_edges(self, graph: dgl.DGLGraph) -> Tensor:
        """Return the edge states that the first layer takes, (edges, hidden_size)."""
        if isinstance(self.edges, EdgeColumns):
            return self.edges(self.edges.check(graph.edata["feat"]))
        one = self.edges.weight.new_ones(1, 1)
        return self.edges(one).expand(graph.num_edges(), -1)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x, edge = self.embed(graph), self.embed_edges(graph)
        hidden = []
        for number, layer in enumerate(self.layers):
            x, edge = layer(graph, x, edge, update_edges=number < self.depth - 1)
            hidden.append(x)
        return hidden
