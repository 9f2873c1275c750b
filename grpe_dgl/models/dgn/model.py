"""DGN: from a graph to predictions."""

from typing import NamedTuple, Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.dgn.aggregation import Field, aggregate, degree_scales
from grpe_dgl.models.dgn.settings import DGNSettings
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.halving_head import HalvingHead
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, per_node, require_data
from grpe_dgl.models.nodes import NodeColumns
from grpe_dgl.schema import Schema

EIGENVECTORS = "combinatorial_laplacian"


class DGN(MessagePassingModel):
    """DGN (Beaini et al., 2021): aggregation along the eigenvectors of L = D - A, to which their sign does not matter.

    It reads eigenvectors 1, 2, ... of L, the constant one left out, from ``ndata["combinatorial_laplacian"]``. Each
    layer is a `DGNLayer`; the readout is the mean or sum over nodes, the head three linear maps of halving width.

    Where an eigenvalue is not simple, as in symmetric molecules, its eigenvectors and with them the predictions depend
    on the order of the nodes; this is part of the method. The authors compute eigenvectors to a tolerance of 0.5 or
    0.01 and leave molecules of at most five atoms out of molhiv; here eigenvectors are exact and all molecules stay.
    """

    def __init__(self, settings: DGNSettings, schema: Schema) -> None:
        width = settings.hidden_size
        super().__init__(schema, width, readout=settings.readout)
        self.depth = settings.layers
        self.eigenvectors = settings.eigenvectors
        self.graph_norm = settings.graph_norm
        self.scalers = settings.scalers
        self.mean_log_degree = settings.mean_log_degree
        self.nodes = node_input(schema, width)
        self.edges = EdgeColumns(schema.edge_columns, settings.edge_size) if settings.edge_size else None
        for columns in (self.nodes, self.edges):  # the authors' net for ZINC has torch's own embeddings, not OGB's
            if isinstance(columns, NodeColumns | EdgeColumns) and len(columns.sizes) == 1:
                nn.init.normal_(columns.embedding.weight)
        self.layers = nn.ModuleList(DGNLayer(settings) for _ in range(self.depth))
        self.head = HalvingHead(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: DGNSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        context = self._context(graph, x)
        hidden = []
        for layer in self.layers:
            x = layer(graph, x, context)
            hidden.append(x)
        return hidden

    def _context(self, graph: dgl.DGLGraph, x: Tensor) -> "Context":
        field = None
        if self.eigenvectors:
            require_data(graph, "ndata", [EIGENVECTORS])
            vectors = graph.ndata[EIGENVECTORS]
            if vectors.dim() != 2 or vectors.shape[1] < self.eigenvectors:
                raise InputError(
                    f'ndata["{EIGENVECTORS}"] has shape {tuple(vectors.shape)}; accepted: (N, {self.eigenvectors})'
                )
            field = Field.of(graph, vectors[:, : self.eigenvectors].to(x.dtype))
        scales = None
        if self.mean_log_degree is not None:
            scales = degree_scales(graph, self.scalers, self.mean_log_degree, x)
        roots = None
        if self.graph_norm:
            roots = per_node(graph, graph.batch_num_nodes().to(x.dtype).rsqrt().unsqueeze(-1))
        edges = None if self.edges is None else self.edges(self.edges.check(graph.edata["feat"]))
        return Context(field, scales, roots, edges)


class Context(NamedTuple):
    """What all layers read of a batch."""

    field: Field | None
    """The directional field."""
    scales: list[Tensor] | None
    """Of each scaler, (N, 1); None where there is only identity."""
    roots: Tensor | None
    """1 / sqrt(nodes of the graph), (N, 1); None without graph norm."""
    edges: Tensor | None
    """(edges, edge_size): their embeddings; None without."""


class DGNLayer(nn.Module):
    """h_v + ReLU(BN(W a_v)), with dropout; a_v holds every aggregator's result times every scaler.

    In a ``simple`` layer messages are the neighbours' states. In a ``complex`` layer they are M [h_u, h_v, e_uv] with a
    linear map M, and a_v also holds h_v.
    """

    def __init__(self, settings: DGNSettings) -> None:
        super().__init__()
        width = settings.hidden_size
        self.aggregators = settings.aggregators
        self.message = nn.Linear(2 * width + settings.edge_size, width) if settings.layer == "complex" else None
        self.update = nn.Linear(settings.aggregated_size, width)
        self.norm = BatchNorm(width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, graph: dgl.DGLGraph, x: Tensor, context: Context) -> Tensor:
        """Return (N, hidden_size) for node states x of the same shape."""
        message = self._messages(graph, x, context.edges)
        parts = [aggregate(name, graph, message, x, context.field) for name in self.aggregators]
        aggregated = torch.cat(parts, -1)
        if context.scales is not None:
            aggregated = torch.cat([aggregated * scale for scale in context.scales], -1)
        y = self.update(aggregated if self.message is None else torch.cat([x, aggregated], -1))
        if context.roots is not None:
            y = y * context.roots
        return self.dropout(x + F.relu(self.norm(y)))

    def _messages(self, graph: dgl.DGLGraph, x: Tensor, edges: Tensor | None) -> Tensor:
        """Return (edges, hidden_size); the linear map is applied to nodes before it is to edges, as those are more."""
        if self.message is None:
            return dgl.ops.copy_u(graph, x)
        width = x.shape[1]
        weight = self.message.weight
        source = F.linear(x, weight[:, :width], self.message.bias)
        message = dgl.ops.u_add_v(graph, source, F.linear(x, weight[:, width : 2 * width]))
        return message if edges is None else message + F.linear(edges, weight[:, 2 * width :])
