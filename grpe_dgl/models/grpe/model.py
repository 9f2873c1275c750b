"""The whole model: from a pair graph to predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.models.descriptors import Descriptors
from grpe_dgl.models.grpe import inference, transfer
from grpe_dgl.models.grpe.encodings import RelationEncodings
from grpe_dgl.models.grpe.layer import GRPELayer
from grpe_dgl.models.grpe.settings import PRESETS, GRPESettings
from grpe_dgl.models.model import GraphModel, WeightSource
from grpe_dgl.models.nodes import NodeColumns, NodeVectors
from grpe_dgl.ops import DensePairs
from grpe_dgl.ops.recomputation import checkpointed
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.relations import Relations
from grpe_dgl.schema import LEVELS, Schema
from grpe_dgl.transforms.pair_structure import require_codes
from grpe_dgl.views import DESCRIPTORS

if TYPE_CHECKING:
    import dgl


class GRPE(GraphModel):
    """Graph transformer with relative positional encoding.

    It reads a pair graph (`grpe_dgl.transforms.ToPairGraph`) and nothing else: ``ndata["feat"]``, ``ndata["virtual"]``
    and ``edata["relation"]``, the last made with this model's `max_distance` and `num_edge_types`.

    Parameters
    ----------
    layers, hidden_size, ffn_size, num_heads
        The size of the transformer; see `from_preset`.
    num_outputs
        Numbers predicted per graph or node.
    level
        ``"graph"``: read the virtual node; ``"node"``: read every real node.
    max_distance, num_edge_types
        L and E of `grpe_dgl.relations.Relations`.
    node_vocabulary
        For integer node features: how many values each column of ``ndata["feat"]`` has.
    node_features
        For continuous node features: how many. Exactly one of the two is given.
    dropout, attention_dropout
        In both branches of a layer, and on the attention weights.
    input_noise
        a: in training, noise uniform in [-a, a] is added to the real nodes' embeddings.
    topology_attention, edge_attention, graph_value
        See `RelationEncodings`; switched off, those tables do not exist.
    share_encodings
        Whether all layers use one set of tables; otherwise each has its own.
    key_term, backend
        See `grpe_dgl.ops.relative_attention`.
    head_sizes
        Widths of further layers (Linear, GELU) between the final norm and the output.
    descriptors
        Which descriptors of the molecule are joined to the final norm's output, a key of `grpe_dgl.views.DESCRIPTORS`;
        without effect at node level.
    descriptor_dropout
        On these.
    """

    reads: ClassVar = "pairs"
    head_prefix: ClassVar = "head"  # `head` and `head_descriptors`
    takes_padded: ClassVar = True
    has_attention: ClassVar = True
    checkpoints_layers: ClassVar = True

    def __init__(
        self,
        *,
        layers: int,
        hidden_size: int,
        ffn_size: int,
        num_heads: int,
        num_outputs: int,
        max_distance: int,
        num_edge_types: int,
        level: str = "graph",
        node_vocabulary: Sequence[int] | None = None,
        node_features: int | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        input_noise: float = 0.0,
        topology_attention: bool = True,
        edge_attention: bool = True,
        graph_value: bool = True,
        share_encodings: bool = True,
        key_term: str = "neighbour",
        head_sizes: Sequence[int] = (),
        descriptors: str | None = None,
        descriptor_dropout: float = 0.0,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if (node_vocabulary is None) == (node_features is None):
            raise InputError("give either node_vocabulary (integer columns) or node_features (continuous), not both")
        if level not in LEVELS:
            raise InputError(f"level is {level!r}; accepted: {', '.join(LEVELS)}")
        self.level = level
        self.input_noise = input_noise
        self.nodes: NodeColumns | NodeVectors
        if node_vocabulary is not None:
            self.nodes = NodeColumns(node_vocabulary, hidden_size)
        else:
            assert node_features is not None
            self.nodes = NodeVectors(node_features, hidden_size)
        self.virtual_node = nn.Parameter(torch.zeros(hidden_size))
        self.relations = Relations(max_distance, num_edge_types)
        self.encodings = nn.ModuleList(
            RelationEncodings(
                max_distance,
                num_edge_types,
                hidden_size,
                num_heads,
                topology_attention=topology_attention,
                edge_attention=edge_attention,
                graph_value=graph_value,
            )
            for _ in range(1 if share_encodings else layers)
        )
        self.layers = nn.ModuleList(
            GRPELayer(
                hidden_size,
                num_heads,
                ffn_size,
                dropout=dropout,
                attention_dropout=attention_dropout,
                key_term=key_term,
                backend=backend,
            )
            for _ in range(layers)
        )
        self.final_norm = nn.LayerNorm(hidden_size)
        self.descriptors = descriptors if level == "graph" else None
        if self.descriptors is not None:
            self.head_descriptors = Descriptors(self.descriptors, descriptor_dropout)
        widths = [hidden_size + (0 if self.descriptors is None else DESCRIPTORS[self.descriptors]), *head_sizes]
        hidden = [nn.Sequential(nn.Linear(a, b), nn.GELU()) for a, b in zip(widths, widths[1:], strict=False)]
        self.head = nn.Sequential(*hidden, nn.Linear(widths[-1], num_outputs))

    @classmethod
    def from_preset(cls, preset: str, **arguments: Any) -> Self:
        """Build a model of one of the paper's sizes: tiny, small, standard or large.

        Parameters
        ----------
        preset
            A name of `PRESETS`, which lists the layers, hidden_size, ffn_size and num_heads of each.
        **arguments
            The other arguments of `GRPE`; one of the four sizes given here overrides the preset's.
        """
        if preset not in PRESETS:
            raise InputError(f"preset is {preset!r}; accepted: {', '.join(PRESETS)}")
        return cls(**{**PRESETS[preset], **arguments})

    @classmethod
    def from_settings(cls, settings: GRPESettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        arguments = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
        return cls(
            **arguments,
            num_outputs=schema.task.num_outputs,
            level=schema.task.level,
            node_vocabulary=schema.node_vocabulary,
            node_features=schema.node_features,
            num_edge_types=schema.num_edge_types,
            backend=backend or "auto",
        )

    def forward(self, pairs: dgl.DGLGraph | PaddedBatch) -> Tensor:
        """Predict: (graphs, num_outputs) at graph level, (real nodes, num_outputs) at node level.

        Of a `PaddedBatch`: (B, num_outputs) at graph level, (B, N, num_outputs) at node level, where row 0, the virtual
        node's, and those of padding mean nothing.
        """
        if isinstance(pairs, PaddedBatch):
            # For node tasks the virtual node's row stays: torch.export would tie a slice of N - 1 rows to N > 2.
            x = self._encode_padded(pairs)[-1]
            x = x[:, 0] if self.level == "graph" else x
            return self.head(self._join(self.final_norm(x), pairs.descriptors))
        if torch.compiler.is_compiling():  # torch.compile cannot trace a DGLGraph: it is computed as without
            return torch.compiler.disable(self._forward_graph)(pairs)
        return self._forward_graph(pairs)

    def _forward_graph(self, pairs: dgl.DGLGraph) -> Tensor:
        virtual = self._virtual(pairs)
        if inference.applies(self, pairs):
            require_codes(pairs, self.relations)
            x = inference.virtual_states(self, pairs, 1)[-1]
        else:
            x = self.encode(pairs)[-1][virtual if self.level == "graph" else ~virtual]
        key = f"{self.descriptors}_values"
        return self.head(self._join(self.final_norm(x), pairs.ndata[key][virtual] if key in pairs.ndata else None))

    def _join(self, x: Tensor, descriptors: Tensor | None) -> Tensor:
        """Return x (B, hidden_size) with the scaled descriptors (B, D) after it, if the model reads them."""
        if self.descriptors is None:
            return x
        if descriptors is None:
            raise InputError(f"the batch has no descriptors, and the model reads those of {self.descriptors}")
        return torch.cat([x, self.head_descriptors(descriptors).to(x.dtype)], -1)

    def fit_descriptors(self, values: Tensor) -> None:
        """Take the scale of the training molecules' descriptors, (G, D)."""
        if self.descriptors is not None:
            self.head_descriptors.fit(values)

    @property
    def fingerprint_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return layers * len(self.virtual_node)

    def fingerprint(self, pairs: dgl.DGLGraph | PaddedBatch, layers: int) -> Tensor:
        """Return the virtual node after each of the last `layers` layers, before the final norm, (graphs, size)."""
        if isinstance(pairs, PaddedBatch):
            hidden = [x[:, 0].float() for x in self._encode_padded(pairs)[-layers:]]
        elif inference.applies(self, pairs):
            require_codes(pairs, self.relations)
            hidden = inference.virtual_states(self, pairs, layers)
        else:
            virtual = self._virtual(pairs)
            hidden = [x[virtual].float() for x in self.encode(pairs)[-layers:]]
        return torch.cat([F.normalize(x, dim=-1) for x in hidden], -1)

    def weight_source(self, name: str, old: GRPESettings, new: GRPESettings) -> WeightSource:  # type: ignore[override]
        """Return where a tensor comes from: tables are matched by distance, shared tables become every layer's own."""
        return transfer.weight_source(name, old, new)

    def is_embedding(self, name: str) -> bool:
        """Whether a tensor embeds nodes, or is one of the tables over edge types."""
        return super().is_embedding(name) or transfer.is_edge_table(name)

    def transfer_notes(self, old: GRPESettings, new: GRPESettings) -> tuple[list[str], list[str]]:  # type: ignore[override]
        """Return which distances' rows start anew, and which of the old model's are left out."""
        return transfer.transfer_notes(old, new)

    def encode(self, pairs: dgl.DGLGraph) -> list[Tensor]:
        """Return x after every layer, before the final norm: (N, hidden_size) each, virtual nodes included."""
        require_codes(pairs, self.relations)
        x = self.embed(self.nodes.check(pairs.ndata["feat"]), self._virtual(pairs))
        return self.encode_embedded(pairs, x)

    def _attention(self, pairs: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer, (M, H) each."""
        require_codes(pairs, self.relations)
        x = self.embed(self.nodes.check(pairs.ndata["feat"]), self._virtual(pairs))
        tables = [encodings() for encodings in self.encodings]
        states = [x, *self.encode_embedded(pairs, x)[:-1]]
        found = []
        for index, (layer, x) in enumerate(zip(self.layers, states, strict=True)):
            assert isinstance(layer, GRPELayer)
            found.append(layer.attention.weights(pairs, layer.attention_norm(x), tables[index % len(tables)]))
        return found

    def _encode_padded(self, batch: PaddedBatch) -> list[Tensor]:
        """Return x after every layer, (B, N, hidden_size) each."""
        virtual = (torch.arange(batch.nodes.shape[1], device=batch.nodes.device) == 0).expand(batch.nodes.shape[0], -1)
        x = self.embed(batch.nodes, virtual)
        return self.encode_embedded(DensePairs(batch.relation.long(), batch.mask), x)  # once for all layers

    def embed(self, feat: Tensor, virtual: Tensor) -> Tensor:
        """Return what the first layer takes, (..., hidden_size), for features (..., F) and a bool mask (...)."""
        x = self.nodes(feat)
        if self.training and self.input_noise:
            x = x + torch.empty_like(x).uniform_(-self.input_noise, self.input_noise)
        return torch.where(virtual.unsqueeze(-1), self.virtual_node.to(x.dtype), x)

    def encode_embedded(self, pairs: dgl.DGLGraph | DensePairs, x: Tensor) -> list[Tensor]:
        """Return x after every layer, for embedded nodes x: (N, hidden_size), with `DensePairs` (B, N, hidden_size)."""
        tables = [encodings() for encodings in self.encodings]
        hidden = []
        checkpoints = self.checkpoint_layers and self.training and torch.is_grad_enabled()
        for index, layer in enumerate(self.layers):
            arguments = pairs, x, tables[index % len(tables)]
            x = checkpointed(layer, *arguments) if checkpoints else layer(*arguments)
            hidden.append(x)
        return hidden

    def _virtual(self, pairs: dgl.DGLGraph) -> Tensor:
        """Return which nodes are virtual, (N,) bool; a model of graphs needs one in each."""
        if "virtual" in pairs.ndata:
            return pairs.ndata["virtual"].bool()
        if self.level == "graph":
            raise InputError('the pair graph has no ndata["virtual"]; apply grpe_dgl.transforms.AddVirtualNode first')
        return torch.zeros(pairs.num_nodes(), dtype=torch.bool, device=pairs.device)
