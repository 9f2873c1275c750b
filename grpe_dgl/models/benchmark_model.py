"""What the models of benchmarking-gnns have in common."""

from collections.abc import Iterable

import dgl
from torch import Tensor, nn

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.models.halving_head import HalvingHead
from grpe_dgl.models.message_passing import MessagePassingModel
from grpe_dgl.models.nodes import NodeColumns, NodeVectors
from grpe_dgl.models.positional_encoding import PositionalEncoding
from grpe_dgl.schema import Schema


class BenchmarkModel(MessagePassingModel):
    """Embedded nodes, plus their positional encoding, through layers to a readout and a head of three linear maps.

    Parameters
    ----------
    settings
        Width, readout and encoding.
    schema
        The form of the graphs and the task.
    layers
        Each takes a graph and node states (N, hidden_size) and returns new ones.
    """

    def __init__(self, settings: BenchmarkSettings, schema: Schema, layers: Iterable[nn.Module]) -> None:
        super().__init__(schema, settings.hidden_size, readout=settings.readout)
        width = settings.hidden_size
        self.nodes: NodeColumns | NodeVectors
        if schema.node_vocabulary is not None:
            self.nodes = NodeColumns(schema.node_vocabulary, width)
        else:
            self.nodes = NodeVectors(int(schema.node_features or 0), width)
        self.encoding = None if settings.encoding is None else PositionalEncoding(settings.encoding, width)
        self.layers = nn.ModuleList(layers)
        self.depth = len(self.layers)
        self.head: nn.Module = HalvingHead(width, schema.task.num_outputs)

    def embed(self, graph: dgl.DGLGraph) -> Tensor:
        """Return what the first layer takes, (N, hidden_size)."""
        x = self.nodes(self.nodes.check(graph.ndata["feat"]))
        return x if self.encoding is None else x + self.encoding(graph)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x = self.embed(graph)
        hidden = []
        for layer in self.layers:
            x = layer(graph, x)
            hidden.append(x)
        return hidden
