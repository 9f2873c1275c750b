"""The whole model: from a graph to predictions."""

from typing import ClassVar, Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.gt.layer import GTLayer, PaddedEdges
from grpe_dgl.models.gt.settings import GTSettings
from grpe_dgl.models.halving_head import HalvingHead
from grpe_dgl.models.model import GraphModel
from grpe_dgl.models.nodes import node_input
from grpe_dgl.models.padding import read_out_padded
from grpe_dgl.models.random_signs import random_signs
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.schema import Schema


class GT(GraphModel):
    """Graph transformer (Dwivedi and Bresson, 2021): attention along edges, Laplacian eigenvectors as positions.

    It reads the graph itself: ``ndata["feat"]``, ``edata["feat"]`` and, with `laplacian_size`, ``ndata["laplacian"]``
    (N, laplacian_size), eigenvectors 1, 2, ... of the normalised Laplacian. In training every eigenvector of a batch
    gets a random sign. The weights with which the last layer would update the edges, which nothing reads, exist as in
    the authors' code and are not trained.

    Parameters
    ----------
    settings
        The family's settings.
    schema
        The form of the graphs and the task.
    """

    reads: ClassVar = "graph"
    takes_padded: ClassVar = True
    has_attention: ClassVar = True

    def __init__(self, settings: GTSettings, schema: Schema) -> None:
        super().__init__()
        self.level = schema.task.level
        self.readout = settings.readout
        self.laplacian_size = settings.laplacian_size
        self.num_edge_types = schema.num_edge_types
        self.hidden_size = width = settings.hidden_size
        self.nodes = node_input(schema, width)
        self.edges = EdgeColumns(schema.edge_columns, width) if settings.edge_features else None
        self.laplacian = nn.Linear(settings.laplacian_size, width) if settings.laplacian_size else None
        self.input_dropout = nn.Dropout(settings.input_dropout)
        self.layers = nn.ModuleList(
            GTLayer(width, settings.num_heads, dropout=settings.dropout, edge_features=settings.edge_features)
            for _ in range(settings.layers)
        )
        if settings.edge_features:
            self.layers[-1].edge_update.requires_grad_(False)
        self.head = HalvingHead(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: GTSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def forward(self, graph: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Predict: (graphs, outputs) at graph level, (nodes, outputs) at node level.

        Of a `PaddedBatch`, (B, outputs), (B, N, outputs), where rows of padding mean nothing. Its relations have no
        place for self-loops and parallel edges, each of which counts on its own in a DGLGraph.
        """
        x = self.encode(graph)[0][-1]
        return self.head(self._read_out(graph, x) if self.level == "graph" else x)

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * self.hidden_size

    def fingerprint(self, graph: dgl.DGLGraph | PaddedBatch, layers: int) -> Tensor:
        """Return the readout after each of the last `layers` layers, (graphs, size)."""
        hidden = self.encode(graph)[0][-layers:]
        return torch.cat([F.normalize(self._read_out(graph, x).float(), dim=-1) for x in hidden], -1)

    def encode(
        self, graph: dgl.DGLGraph | PaddedBatch, *, last_edges: bool = False
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return nodes and edges after every layer, (N, hidden_size) and (M, hidden_size) each.

        Of a `PaddedBatch`, (B, N, hidden_size) and (B, N, N, hidden_size). The last layer updates edges only with
        `last_edges`.
        """
        x, e = self._embed(graph)
        along = self._padded_edges(graph) if isinstance(graph, PaddedBatch) else graph
        nodes, edges = [], []
        for index, layer in enumerate(self.layers):
            x, e = layer(along, x, e, update_edges=last_edges or index < len(self.layers) - 1)
            nodes.append(x)
            if e is not None:
                edges.append(e)
        return nodes, edges

    def _attention(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer, (M, H) each."""
        x, e = self._embed(graph)
        found = []
        for layer in self.layers:
            assert isinstance(layer, GTLayer)
            found.append(layer.weights(graph, x, e))
            x, e = layer(graph, x, e)
        return found

    def _embed(self, graph: dgl.DGLGraph | PaddedBatch) -> tuple[Tensor, Tensor | None]:
        """Return nodes and edges as the first layer takes them."""
        if isinstance(graph, PaddedBatch):
            feat, vectors = graph.nodes, graph.encoding
            kind = graph.relation.long().clamp(max=self.num_edge_types - 1)  # anything valid where there is no edge
        else:
            feat, vectors = self.nodes.check(graph.ndata["feat"]), self._eigenvectors(graph)
            kind = graph.edata["feat"] if self.edges is None else self.edges.check(graph.edata["feat"])
        x = self.nodes(feat)
        if self.laplacian is not None:
            assert vectors is not None
            if self.training:
                vectors = vectors * random_signs(self.laplacian_size, like=vectors)
            x = x + self.laplacian(vectors.to(x.dtype))
        return self.input_dropout(x), None if self.edges is None else self.edges(kind)

    def _padded_edges(self, batch: PaddedBatch) -> PaddedEdges:
        """Return which pairs of a padded batch have an edge."""
        real = batch.mask.unsqueeze(-1) & batch.mask.unsqueeze(-2)
        return PaddedEdges(batch.mask, (batch.relation < self.num_edge_types) & real)

    def _eigenvectors(self, graph: dgl.DGLGraph) -> Tensor | None:
        """Return (N, laplacian_size), or None if the model reads none."""
        if self.laplacian is None:
            return None
        shape = tuple(graph.ndata["laplacian"].shape) if "laplacian" in graph.ndata else None
        if shape != (graph.num_nodes(), self.laplacian_size):
            raise InputError(f'ndata["laplacian"] has shape {shape}; accepted: (N, {self.laplacian_size})')
        vectors: Tensor = graph.ndata["laplacian"]
        return vectors

    def _read_out(self, graph: dgl.DGLGraph | PaddedBatch, x: Tensor) -> Tensor:
        """Return the mean or sum of each graph's nodes, (graphs, hidden_size)."""
        if isinstance(graph, PaddedBatch):
            return read_out_padded(x, graph.mask, self.readout)
        return dgl.ops.segment_reduce(graph.batch_num_nodes(), x, reducer=self.readout)
