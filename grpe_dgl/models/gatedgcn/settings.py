"""The settings of GatedGCN."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.models.message_passing_settings import linears
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class GatedGCNSettings(BenchmarkSettings):
    """The arguments of `grpe_dgl.models.gatedgcn.model.GatedGCN` that a dataset does not decide."""

    NAME: ClassVar = "gatedgcn"
    PRESETS: ClassVar = {"100k": {"layers": 4, "hidden_size": 70}, "500k": {"layers": 16, "hidden_size": 78}}

    edges: bool = True
    """Whether edge states start from the edges' features; if not, all start alike."""

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width = self.hidden_size
        edges = sum(schema.edge_columns) * width if self.edges else linears([1, width])
        layer = 5 * linears([width, width]) + 4 * width
        return self.count_input(schema) + edges + self.layers * layer + self.count_head(schema)
