"""The whole model: from a pair graph to predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.column_table import node_table
from grpe_dgl.models.egt.inputs import PairStates
from grpe_dgl.models.egt.layer import EGTLayer
from grpe_dgl.models.egt.settings import EGTSettings
from grpe_dgl.models.model import GraphModel
from grpe_dgl.models.padding import Padding, read_out_padded
from grpe_dgl.models.random_signs import random_signs
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.schema import Schema
from grpe_dgl.transforms.pair_structure import require_codes

if TYPE_CHECKING:
    import dgl


class EGT(GraphModel):
    """Edge-augmented graph transformer (Hussain et al., 2022) as its two released codes compute it.

    It reads a pair graph without virtual nodes: ``ndata["feat"]``, ``edata["relation"]`` and, with `svd_size`,
    ``ndata["svd_self_loops"]`` (N, 2 svd_size): left, then right singular vectors of A + I times the roots of their
    values. In training every singular vector of every graph gets a random sign. See `EGTLayer` and `PairStates`.

    Other than in the authors' second code, virtual nodes do not see padding, unless `see_padding` is set.

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

    def __init__(self, settings: EGTSettings, schema: Schema) -> None:
        super().__init__()
        self.level = schema.task.level
        self.svd_size = settings.svd_size
        self.see_padding = settings.see_padding
        width = settings.hidden_size
        node_columns, _ = settings.column_sizes(schema)
        # Row 0 stands for padding in the authors' code.
        first_rows = [1 + sum(node_columns[:column]) for column in range(len(node_columns))]
        self.nodes = node_table(schema, width, first_rows=first_rows, rows=1 + sum(node_columns))
        self.svd = nn.Linear(2 * settings.svd_size, width) if settings.svd_size else None
        self.pairs = PairStates(settings, schema)
        self.virtual = nn.Parameter(torch.randn(settings.virtual_nodes, width)) if settings.virtual_nodes else None
        self.layers = nn.ModuleList(
            EGTLayer(
                width,
                settings.edge_size,
                settings.num_heads,
                node_inner=round(width * settings.node_ffn),
                edge_inner=round(settings.edge_size * settings.edge_ffn),
                epsilon=settings.norm_epsilon,
                scale_degree=settings.scale_degree,
                virtual_nodes=settings.virtual_nodes,
                attention_dropout=settings.attention_dropout,
                random_mask=settings.random_mask,
                update_edges=index < settings.layers - 1,
            )
            for index in range(settings.layers)
        )
        self.final_norm = nn.LayerNorm(width, eps=settings.norm_epsilon)
        sizes = settings.head_sizes(self.level)
        hidden = [nn.Sequential(nn.Linear(a, b), nn.ELU()) for a, b in zip(sizes, sizes[1:], strict=False)]
        self.head = nn.Sequential(*hidden, nn.Linear(sizes[-1], schema.task.num_outputs))

    @classmethod
    def from_settings(cls, settings: EGTSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def forward(self, pairs: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Predict: (graphs, outputs) at graph level, (nodes, outputs) at node level.

        Of a `PaddedBatch` without a virtual node in row 0: (B, outputs), (B, N, outputs), where rows of padding mean
        nothing.
        """
        hidden, _, padding = self.encode(pairs)
        x = self.final_norm(hidden[-1])
        return self.head(self._read_out(padding, x) if self.level == "graph" else self._real(padding, x, pairs))

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * self.final_norm.normalized_shape[0] * (1 if self.virtual is None else len(self.virtual))

    def fingerprint(self, pairs: dgl.DGLGraph | PaddedBatch, layers: int) -> Tensor:
        """Return the readout (virtual nodes joined, or the mean) after the last `layers` layers, (graphs, size)."""
        hidden, _, padding = self.encode(pairs)
        return torch.cat([F.normalize(self._read_out(padding, x).float(), dim=-1) for x in hidden[-layers:]], -1)

    def is_embedding(self, name: str) -> bool:
        """Whether a tensor embeds nodes or edge types."""
        return super().is_embedding(name) or name.startswith("pairs.edge.")

    def encode(self, pairs: dgl.DGLGraph | PaddedBatch) -> tuple[list[Tensor], list[Tensor], Padding]:
        """Return nodes and pairs after every layer, (nodes, hidden_size) and (pairs, edge_size), and their padding.

        Of a `PaddedBatch`, (B, N, hidden_size) and (B, N, N, edge_size). Every graph's virtual nodes come before its
        own nodes.
        """
        padding, x, e, unseen = self._embed(pairs)
        nodes, states = [], []
        for layer in self.layers:
            x, e = layer(padding, x, e, unseen)
            nodes.append(x)
            states.append(e)
        return nodes, states, padding

    @property
    def added_virtual_nodes(self) -> int:
        """How many virtual nodes every graph gets."""
        return 0 if self.virtual is None else len(self.virtual)

    def _attention(self, pairs: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer before the gates, (pairs, H) each, virtual nodes first."""
        if self.see_padding:
            raise InputError("model.see_padding is true, with which nodes attend to padding; accepted: false")
        padding, x, e, unseen = self._embed(pairs)
        found = []
        for layer in self.layers:
            assert isinstance(layer, EGTLayer)
            found.append(layer.weights(padding, x, e, unseen))
            x, e = layer(padding, x, e, unseen)
        return found

    def _embed(self, pairs: dgl.DGLGraph | PaddedBatch) -> tuple[Padding, Tensor, Tensor, Tensor]:
        """Return the padding, nodes and pairs as the first layer takes them, and which keys are not seen."""
        read = self._read_padded(pairs) if isinstance(pairs, PaddedBatch) else self._read_pairs(pairs)
        own, feat, svd, relation = read
        x = self.nodes(feat)
        if self.svd is not None:
            assert svd is not None
            x = x + self.svd(svd.to(x.dtype))
        padding = own
        if self.virtual is not None:
            virtual = self.virtual.to(x.dtype).expand(own.mask.shape[0], -1, -1)
            x = torch.cat([virtual, own.pad(x)], 1)
            mask = torch.cat([own.mask.new_ones(own.mask.shape[0], len(self.virtual)), own.mask], 1)
            padding = Padding(mask) if own.nodes is None else Padding.of_sizes(mask.sum(1))
        unseen = ~padding.mask[:, None, None, :]
        if self.virtual is not None and self.see_padding:
            x, relation, unseen = self._with_padding(own, x, relation, unseen)
            padding = Padding(padding.mask)
        elif self.virtual is not None:
            x = padding.unpad(x)
        e = F.embedding(padding.unpad_pairs(self.pairs.codes(relation)), self.pairs.table())
        return padding, x, e, unseen

    def _with_padding(self, own: Padding, x: Tensor, relation: Tensor, unseen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return nodes, relations and the mask in the form of the authors' second code, where padding takes part.

        Padding has the vector of a node without features, distance 0 to everything, and sees virtual nodes alone;
        virtual nodes see everything.
        """
        assert self.virtual is not None
        count = len(self.virtual)
        real = own.mask.unsqueeze(-1)
        blank = x.new_zeros(()) if self.svd is None else self.svd.bias.to(x.dtype)
        x = torch.cat([x[:, :count], torch.where(real, x[:, count:], blank)], 1)
        relation = torch.where(real & real.transpose(1, 2), relation, self.pairs.relations.own)
        is_virtual = torch.arange(x.shape[1], device=x.device) < count
        either = is_virtual[:, None] | is_virtual
        return x, relation, (unseen | unseen.transpose(-1, -2)) & ~either

    def _read_pairs(self, pairs: dgl.DGLGraph) -> tuple[Padding, Tensor, Tensor | None, Tensor]:
        """Return the padding, features (N, F), singular vectors (N, 2 svd_size) and relations, (B, N, N)."""
        self._check(pairs)
        sizes = pairs.batch_num_nodes()
        padding = Padding.of_sizes(sizes)
        svd = None if self.svd is None else pairs.ndata["svd_self_loops"]
        if svd is not None and self.training:
            svd = svd * self._signs(len(sizes), svd).repeat_interleave(sizes, 0)
        return padding, self.nodes.check(pairs.ndata["feat"]), svd, padding.pad_pairs(pairs.edata["relation"])

    def _read_padded(self, batch: PaddedBatch) -> tuple[Padding, Tensor, Tensor | None, Tensor]:
        """Return the same of a padded batch: features (B, N, F) and singular vectors (B, N, 2 svd_size)."""
        svd = batch.encoding if self.svd is not None else None
        if svd is not None and self.training:
            svd = svd * self._signs(svd.shape[0], svd).unsqueeze(1)
        return Padding(batch.mask), batch.nodes, svd, batch.relation

    def _signs(self, graphs: int, svd: Tensor) -> Tensor:
        """Return a random sign per graph and singular vector, left and right alike, (graphs, 2 svd_size)."""
        return random_signs(graphs, self.svd_size, like=svd).repeat(1, 2)

    def _read_out(self, padding: Padding, x: Tensor) -> Tensor:
        """Return the virtual nodes of each graph joined, or the mean of its nodes where it has none."""
        padded = padding.pad(x)
        if self.virtual is not None:
            return padded[:, : len(self.virtual)].flatten(1)
        return read_out_padded(padded, padding.mask, "mean")

    def _real(self, padding: Padding, x: Tensor, pairs: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Return the rows of real nodes, of a padded batch those of padding too."""
        if self.virtual is None:
            return x
        if isinstance(pairs, PaddedBatch):
            return x[:, len(self.virtual) :]
        real = padding.mask.clone()
        real[:, : len(self.virtual)] = False
        return padding.pad(x)[real]

    def _check(self, pairs: dgl.DGLGraph) -> None:
        """Raise unless the pair graph has what this model reads."""
        if "virtual" in pairs.ndata:
            raise InputError("the pair graph has virtual nodes; EGT reads pair graphs without, and adds its own")
        require_codes(pairs, self.pairs.relations)
        if self.svd is not None:
            shape = tuple(pairs.ndata["svd_self_loops"].shape) if "svd_self_loops" in pairs.ndata else None
            if shape != (pairs.num_nodes(), 2 * self.svd_size):
                raise InputError(f'ndata["svd_self_loops"] has shape {shape}; accepted: (N, {2 * self.svd_size})')
