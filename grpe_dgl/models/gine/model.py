"""GINE and GINE+: from a graph to predictions."""

from collections.abc import Callable
from typing import ClassVar, Self

import dgl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.gine.convolution import GINEConvolution, GINEPlusConvolution, graphs_by_distance, two_layers
from grpe_dgl.models.gine.settings import GINESettings
from grpe_dgl.models.message_passing import MessagePassingModel, node_input, per_node, pool, require_data
from grpe_dgl.schema import Schema

Convolve = Callable[[int, Tensor], Tensor]
"""Takes the number of a layer and node states (N, hidden_size); returns the convolution's result."""


class GINE(MessagePassingModel):
    """GINE (Hu et al., 2020), and GINE+ (Brossard et al., 2020) by its subclass, as the code of GINE+ builds both.

    Per layer, with v the vector of the virtual node, D dropout and S the sum over a graph's nodes::

        h <- h + v
        h <- D(ReLU(BN(Conv(h))))                   the last layer has no ReLU
        v <- D(ReLU(BN(MLP(v + S h))))              not after the last layer

    The readout is the mean over nodes, followed by a linear map. Each layer has an embedding of edges of its own.
    """

    def __init__(self, settings: GINESettings, schema: Schema) -> None:
        width = settings.hidden_size
        super().__init__(schema, width)
        self.depth = settings.layers
        self.radius = settings.radius_of(self.depth - 1)
        self.nodes = node_input(schema, width)
        self.edges = nn.ModuleList(EdgeColumns(schema.edge_columns, width) for _ in range(self.depth))
        self.convolutions = nn.ModuleList(self.convolution(settings, layer) for layer in range(self.depth))
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(self.depth))
        self.dropout = nn.Dropout(settings.dropout)
        self.virtual_node = nn.Parameter(torch.zeros(width)) if settings.virtual_node else None
        self.virtual_updates = nn.ModuleList(
            nn.Sequential(two_layers(width), BatchNorm(width), nn.ReLU())
            for _ in range(self.depth - 1 if settings.virtual_node else 0)
        )
        self.head = nn.Linear(width, schema.task.num_outputs)

    @classmethod
    def from_settings(cls, settings: GINESettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema: `GINEPlus` where the settings ask for it."""
        kind = GINEPlus if settings.convolution == "gine+" and not issubclass(cls, GINEPlus) else cls
        return kind(settings, schema)  # type: ignore[return-value]

    def convolution(self, settings: GINESettings, layer: int) -> nn.Module:
        """Return the convolution of a layer."""
        return GINEConvolution(settings.hidden_size)

    def convolve(self, graph: dgl.DGLGraph) -> Convolve:
        """Return the function that applies the convolution of a layer to node states."""
        require_data(graph, "edata", ["feat"])
        codes = self._check(graph.edata["feat"])
        return lambda layer, x: self.convolutions[layer](graph, x, self.edges[layer](codes))

    def _check(self, codes: Tensor) -> Tensor:
        """Return edge codes (edges,), or raise if they do not fit the embeddings, which all have the same rows."""
        edges = self.edges[0]
        assert isinstance(edges, EdgeColumns)
        return edges.check(codes)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        convolve = self.convolve(graph)
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        virtual = None if self.virtual_node is None else self.virtual_node.expand(graph.batch_size, -1)
        hidden: list[Tensor] = []
        for layer, norm in enumerate(self.norms):
            if virtual is not None:
                x = x + per_node(graph, virtual)
            x = norm(convolve(layer, x))
            last = layer + 1 == self.depth
            x = self.dropout(x if last else F.relu(x))
            if virtual is not None and not last:
                virtual = self.dropout(self.virtual_updates[layer](virtual + pool(graph, x, "sum")))
            hidden.append(x)
        return hidden


class GINEPlus(GINE):
    """GINE+: convolutions that also take the states of earlier layers from nodes further away.

    It reads the pair graph without a virtual node (`grpe_dgl.views.PairView`), of which it keeps the pairs up to the
    radius. The authors' code gives the features of bonds to other bonds where a molecule's bonds are not sorted, as
    OGB's are not; here every bond has its own.
    """

    reads: ClassVar = "pairs"

    def convolution(self, settings: GINESettings, layer: int) -> nn.Module:
        """Return the convolution of a layer."""
        return GINEPlusConvolution(settings.hidden_size, settings.radius_of(layer))

    def convolve(self, graph: dgl.DGLGraph) -> Convolve:
        """Return the function that applies the convolution of a layer to node states, and keeps them for later ones."""
        require_data(graph, "edata", ["spd", "edge"])
        graphs, codes = graphs_by_distance(graph, self.radius)
        codes = self._check(codes)
        inputs: list[Tensor] = []

        def apply(layer: int, x: Tensor) -> Tensor:
            inputs.insert(0, x)
            return self.convolutions[layer](graphs, inputs, self.edges[layer](codes))

        return apply
