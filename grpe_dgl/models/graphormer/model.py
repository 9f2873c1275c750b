"""The whole model: from a pair graph to predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.column_table import node_table
from grpe_dgl.models.graphormer.bias import PairBias
from grpe_dgl.models.graphormer.layer import GraphormerLayer
from grpe_dgl.models.graphormer.settings import COLUMN_ROWS, GraphormerSettings
from grpe_dgl.models.model import GraphModel
from grpe_dgl.models.padding import Padding
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema
from grpe_dgl.transforms.pair_structure import require_codes
from grpe_dgl.transforms.path_edges import padded_paths

if TYPE_CHECKING:
    import dgl


class Graphormer(GraphModel):
    """Graphormer (Ying et al., 2021) as its released code (version 1.0) computes it.

    Nodes are the sum of their columns' rows and of two rows for their degree; a graph token, here the virtual node, is
    read out at graph level. See `PairBias` for what attention knows of pairs.

    As in the released code, and other than in the paper, both degree tables take the number of incoming neighbours, and
    a path's edges are multiplied by a matrix per hop, not by a vector. Other than in the released code, rows for
    padding add nothing (there they are random and a prediction depends on the other graphs of its batch), a path
    through node 0 is whole (there it is cut short), and of several shortest paths one rule picks one:
    `grpe_dgl.transforms.path_edges`.

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

    def __init__(self, settings: GraphormerSettings, schema: Schema) -> None:
        super().__init__()
        self.level = schema.task.level
        self.relations = Relations(settings.max_distance, schema.num_edge_types)
        self.path_edges = settings.path_edges
        rows = settings.table_rows(schema)
        first_rows = [2 + COLUMN_ROWS * column for column in range(schema.num_node_columns)]
        self.nodes = node_table(schema, settings.hidden_size, first_rows=first_rows, rows=rows.nodes)
        self.in_degree = nn.Embedding(rows.degrees, settings.hidden_size)
        self.out_degree = nn.Embedding(rows.degrees, settings.hidden_size)
        self.token = nn.Parameter(torch.empty(settings.hidden_size))
        self.bias = PairBias(schema, rows, settings.num_heads, self.relations, settings.path_edges)
        self.input_dropout = nn.Dropout(settings.input_dropout)
        self.layers = nn.ModuleList(GraphormerLayer(**settings.arguments()) for _ in range(settings.layers))
        self.final_norm = nn.LayerNorm(settings.hidden_size)
        self.head = nn.Linear(settings.hidden_size, schema.task.num_outputs)
        self._initialise()

    @classmethod
    def from_settings(cls, settings: GraphormerSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def forward(self, pairs: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Predict: (graphs, outputs) at graph level, (real nodes, outputs) at node level.

        Of a `PaddedBatch`: (B, outputs), (B, N, outputs), where row 0 and those of padding mean nothing.
        """
        x = self.encode(pairs)[-1]
        if isinstance(pairs, PaddedBatch):
            x = x[:, 0] if self.level == "graph" else x
        else:
            token = pairs.ndata["virtual"]
            x = x[token if self.level == "graph" else ~token]
        return self.head(self.final_norm(x))

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * len(self.token)

    def fingerprint(self, pairs: dgl.DGLGraph | PaddedBatch, layers: int) -> Tensor:
        """Return the graph token after each of the last `layers` layers, before the final norm, (graphs, size)."""
        token: Any = (slice(None), 0) if isinstance(pairs, PaddedBatch) else pairs.ndata["virtual"]
        hidden = [x[token].float() for x in self.encode(pairs)[-layers:]]
        return torch.cat([F.normalize(x, dim=-1) for x in hidden], -1)

    def is_embedding(self, name: str) -> bool:
        """Whether a tensor embeds nodes or edge types."""
        return super().is_embedding(name) or name.startswith("bias.edge.")

    def encode(self, pairs: dgl.DGLGraph | PaddedBatch) -> list[Tensor]:
        """Return x after every layer, before the final norm: (N, hidden_size) each, padded (B, N, hidden_size)."""
        padding, x, bias = self._embed(pairs)
        hidden = []
        for layer in self.layers:
            x = layer(padding, x, bias)
            hidden.append(x)
        return hidden

    def _attention(self, pairs: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer, (pairs, H) each."""
        padding, x, bias = self._embed(pairs)
        found = []
        for layer in self.layers:
            assert isinstance(layer, GraphormerLayer)
            found.append(layer.weights(padding, x, bias))
            x = layer(padding, x, bias)
        return found

    def _embed(self, pairs: dgl.DGLGraph | PaddedBatch) -> tuple[Padding, Tensor, Tensor]:
        """Return the padding, what the first layer takes, and the bias of all layers."""
        read = self._read_padded(pairs) if isinstance(pairs, PaddedBatch) else self._read_pairs(pairs)
        padding, feat, token, degree, bias = read
        x = self.nodes(feat)
        row = (degree + 1).clamp(max=self.in_degree.num_embeddings - 1)
        x = x + self.in_degree(row) + self.out_degree(row)
        return padding, self.input_dropout(torch.where(token.unsqueeze(-1), self.token.to(x.dtype), x)), bias

    def _read_pairs(self, pairs: dgl.DGLGraph) -> tuple[Padding, Tensor, Tensor, Tensor, Tensor]:
        """Return the padding, features (N, F), graph tokens (N,), degrees (N,) and bias of a pair graph."""
        self._check(pairs)
        padding = Padding.of_sizes(pairs.batch_num_nodes())
        token = pairs.ndata["virtual"]
        relation = pairs.edata["relation"]
        keys, queries = pairs.edges(order="eid")
        is_edge = (relation < self.relations.num_edge_types).long()
        degree = torch.zeros(pairs.num_nodes(), dtype=torch.int64, device=relation.device)
        degree.index_add_(0, queries.long(), is_edge)
        token_pair = token[keys.long()] | token[queries.long()]
        bias = self.bias(padding, relation, token_pair, pairs.edata["path"])
        return padding, self.nodes.check(pairs.ndata["feat"]), token, degree, bias

    def _read_padded(self, batch: PaddedBatch) -> tuple[Padding, Tensor, Tensor, Tensor, Tensor]:
        """Return the same of a padded batch: features (B, N, F), the others (B, N)."""
        padding = Padding(batch.mask)
        relation = batch.relation.long()
        token = (torch.arange(batch.nodes.shape[1], device=batch.nodes.device) == 0).expand(batch.nodes.shape[0], -1)
        real = batch.mask & ~token
        spd = torch.from_numpy(self.relations.spd_of_relation()).to(relation.device)[relation]
        distance = torch.where(spd <= self.relations.max_distance, spd, -2)
        none = self.relations.num_edge_types
        path = padded_paths(relation, real, distance, none, self.path_edges)
        degree = ((relation < none) & real.unsqueeze(-1) & real.unsqueeze(-2)).sum(-1)
        bias = self.bias(padding, relation, token.unsqueeze(-1) | token.unsqueeze(-2), path)
        return padding, batch.nodes, token, degree, bias

    def _check(self, pairs: dgl.DGLGraph) -> None:
        """Raise unless the pair graph has what this model reads."""
        for name, data in (("virtual", pairs.ndata), ("relation", pairs.edata), ("path", pairs.edata)):
            if name not in data:
                raise InputError(f"the pair graph has no {name!r}; open the dataset with the view of the settings")
        require_codes(pairs, self.relations)
        if pairs.edata["path"].shape[1] != self.path_edges:
            raise InputError(
                f"the pair graph was made with path_edges {pairs.edata['path'].shape[1]}, the model with "
                f"{self.path_edges}; accepted: the same"
            )

    def _initialise(self) -> None:
        """Draw weights as the authors do: normal(0, 0.02), in linear maps divided by the square root of the layers."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02 / len(self.layers) ** 0.5)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        for parameter in (self.token, self.bias.hop, self.bias.token_distance):
            nn.init.normal_(parameter, std=0.02)
