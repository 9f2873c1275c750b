"""The whole model: from a pair graph to predictions."""

from collections.abc import Callable
from typing import ClassVar, Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.halving_head import HalvingHead
from grpe_dgl.models.model import GraphModel
from grpe_dgl.models.nodes import node_input
from grpe_dgl.models.padding import Padding, read_out_padded
from grpe_dgl.models.random_signs import random_signs
from grpe_dgl.models.san.encoding import SpectralEncoding
from grpe_dgl.models.san.layer import EdgePairs, PaddedPairs, SANLayer
from grpe_dgl.models.san.settings import SANSettings
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema
from grpe_dgl.transforms.pair_structure import require_codes

LayerInput = tuple[Padding, Tensor, EdgePairs | PaddedPairs, Tensor, Tensor]


class SAN(GraphModel):
    """Spectral attention network (Kreuzer et al., 2021), the form with a learned encoding per node.

    It reads a pair graph without virtual nodes: ``ndata["feat"]``, ``edata["relation"]``, ``ndata["spectrum"]`` and
    ``ndata["spectrum_values"]``, (N, eigenvectors) each. A node's first state is the embedding of its features, joined
    with its `SpectralEncoding`. See `SANLayer`.

    Parameters
    ----------
    settings
        The family's settings.
    schema
        The form of the graphs and the task.
    """

    reads: ClassVar = "pairs"
    takes_padded: ClassVar = True
    has_attention: ClassVar = True

    def __init__(self, settings: SANSettings, schema: Schema) -> None:
        super().__init__()
        self.level = schema.task.level
        self.readout = settings.readout
        self.random_signs = settings.random_signs
        self.eigenvectors = settings.eigenvectors
        self.num_edge_types = schema.num_edge_types
        self.relations = Relations(settings.view.max_distance, schema.num_edge_types)
        self.hidden_size = width = settings.hidden_size
        self.nodes = node_input(schema, width - settings.encoding_size)
        self.edges = EdgeColumns(schema.edge_columns, width)
        self.added = nn.Parameter(torch.randn(width)) if settings.added_row else None
        self.encoding = SpectralEncoding(
            settings.encoding_size,
            layers=settings.encoding_layers,
            num_heads=settings.encoding_heads,
            ffn_size=settings.encoding_ffn,
            dropout=settings.encoding_dropout,
        )
        self.input_dropout = nn.Dropout(settings.input_dropout)
        self.layers = nn.ModuleList(
            SANLayer(width, settings.num_heads, gamma=settings.gamma, dropout=settings.dropout)
            for _ in range(settings.layers)
        )
        self.head = HalvingHead(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: SANSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def forward(self, pairs: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Predict: (graphs, outputs) at graph level, (nodes, outputs) at node level.

        Of a `PaddedBatch` without a virtual node in row 0: (B, outputs), (B, N, outputs), where rows of padding mean
        nothing.
        """
        x = self.encode(pairs)[-1]
        return self.head(self._read_out(pairs, x) if self.level == "graph" else x)

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * self.hidden_size

    def fingerprint(self, pairs: dgl.DGLGraph | PaddedBatch, layers: int) -> Tensor:
        """Return the readout after each of the last `layers` layers, (graphs, size)."""
        hidden = self.encode(pairs)[-layers:]
        return torch.cat([F.normalize(self._read_out(pairs, x).float(), dim=-1) for x in hidden], -1)

    def encode(self, pairs: dgl.DGLGraph | PaddedBatch) -> list[Tensor]:
        """Return x after every layer, (N, hidden_size) each, or padded (B, N, hidden_size)."""
        x, arguments = self._embed(pairs)
        hidden = []
        for layer in self.layers:
            x = layer(*arguments(x))
            hidden.append(x)
        return hidden

    def _attention(self, pairs: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer, (pairs, H) each."""
        x, arguments = self._embed(pairs)
        found = []
        for layer in self.layers:
            assert isinstance(layer, SANLayer)
            found.append(layer.weights(*arguments(x)))
            x = layer(*arguments(x))
        return found

    def _embed(self, pairs: dgl.DGLGraph | PaddedBatch) -> tuple[Tensor, Callable[[Tensor], LayerInput]]:
        """Return what the first layer takes, (N, hidden_size), and from such a state to the arguments of a layer."""
        read = self._read_padded(pairs) if isinstance(pairs, PaddedBatch) else self._read_pairs(pairs)
        padding, feat, vectors, values, with_edge = read
        x = self.nodes(feat)
        vectors, values = vectors.to(x.dtype), values.to(x.dtype)
        if self.training and self.random_signs:
            vectors = vectors * random_signs(self.eigenvectors, like=vectors)
        x = self.input_dropout(torch.cat([x, self.encoding(vectors, values).to(x.dtype)], -1))
        table = self.edges(torch.arange(self.num_edge_types, device=x.device))
        added = table[0] if self.added is None else self.added
        return x, lambda x: (padding, x, with_edge, table, added)

    def _read_pairs(self, pairs: dgl.DGLGraph) -> tuple[Padding, Tensor, Tensor, Tensor, EdgePairs]:
        """Return the padding, features (N, F), eigenvectors and values, (N, m) each, and the pairs with an edge."""
        self._check(pairs)
        padding = Padding.of_sizes(pairs.batch_num_nodes())
        spectrum = pairs.ndata["spectrum"], pairs.ndata["spectrum_values"]
        return padding, self.nodes.check(pairs.ndata["feat"]), *spectrum, self._edge_pairs(pairs, padding)

    def _read_padded(self, batch: PaddedBatch) -> tuple[Padding, Tensor, Tensor, Tensor, PaddedPairs]:
        """Return the same of a padded batch: features (B, N, F), eigenvectors and values (B, N, m), and all pairs."""
        assert batch.encoding is not None and batch.encoding_values is not None
        real = batch.mask.unsqueeze(-1) & batch.mask.unsqueeze(-2)
        relation = batch.relation.long()
        pairs = PaddedPairs((relation < self.num_edge_types) & real, relation.clamp(max=self.num_edge_types - 1))
        values = batch.encoding_values.unsqueeze(1).expand_as(batch.encoding)
        return Padding(batch.mask), batch.nodes, batch.encoding, values, pairs

    def _edge_pairs(self, pairs: dgl.DGLGraph, padding: Padding) -> EdgePairs:
        """Return the pairs that have an edge."""
        relation = pairs.edata["relation"]
        chosen = (relation < self.num_edge_types).nonzero().squeeze(-1)
        keys, queries = pairs.edges(order="eid")
        assert padding.pairs is not None
        return EdgePairs(queries[chosen].long(), keys[chosen].long(), padding.pairs[chosen], relation[chosen].long())

    def _read_out(self, pairs: dgl.DGLGraph | PaddedBatch, x: Tensor) -> Tensor:
        """Return the sum or mean of each graph's nodes, (graphs, hidden_size)."""
        if isinstance(pairs, PaddedBatch):
            return read_out_padded(x, pairs.mask, self.readout)
        return dgl.ops.segment_reduce(pairs.batch_num_nodes(), x, reducer=self.readout)

    def _check(self, pairs: dgl.DGLGraph) -> None:
        """Raise unless the pair graph has what this model reads."""
        if "virtual" in pairs.ndata:
            raise InputError("the pair graph has virtual nodes; SAN reads pair graphs without")
        require_codes(pairs, self.relations)
        for name in ("spectrum", "spectrum_values"):
            shape = tuple(pairs.ndata[name].shape) if name in pairs.ndata else None
            if shape != (pairs.num_nodes(), self.eigenvectors):
                raise InputError(f'ndata["{name}"] has shape {shape}; accepted: (N, {self.eigenvectors})')
