"""PNA: several aggregators of neighbours, each scaled by functions of the degree; MPNN (sum) is one of its settings."""

from typing import Self

import dgl
from torch import Tensor, nn

from grpe_dgl.models.benchmark_model import BenchmarkModel
from grpe_dgl.models.edges import EdgeColumns
from grpe_dgl.models.message_passing import per_node
from grpe_dgl.models.pna.aggregation import scales
from grpe_dgl.models.pna.layers import SimpleLayer, TowerLayer
from grpe_dgl.models.pna.settings import PNASettings
from grpe_dgl.schema import Schema


class PNA(BenchmarkModel):
    """PNA (Corso et al.) as its authors train it on ZINC and, with ``simple``, on molhiv."""

    edges: EdgeColumns | None

    def __init__(self, settings: PNASettings, schema: Schema) -> None:
        layer = SimpleLayer if settings.simple else TowerLayer
        super().__init__(settings, schema, (layer(settings) for _ in range(settings.layers)))
        self.scalers, self.mean_log_degree = settings.scalers, settings.mean_log_degree
        self.edges = None
        if settings.edge_size:
            self.edges = EdgeColumns(schema.edge_columns, settings.edge_size)
            nn.init.normal_(self.edges.embedding.weight)

    @classmethod
    def from_settings(cls, settings: PNASettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        return cls(settings, schema)

    def encode(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return node states after every layer, (N, hidden_size) each."""
        x = self.embed(graph)
        factors = scales(graph, self.scalers, self.mean_log_degree, x.dtype)
        root = per_node(graph, graph.batch_num_nodes().to(x.dtype).sqrt().unsqueeze(-1))
        table = None
        if self.edges is not None:
            self.edges.check(graph.edata["feat"])
            table = self.edges.embedding(self.edges.rows).sum(1)
        hidden = []
        for layer in self.layers:
            x = layer(graph, x, factors, table, root)
            hidden.append(x)
        return hidden
