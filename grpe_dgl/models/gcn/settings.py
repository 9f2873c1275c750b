"""The settings of GCN."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class GCNSettings(BenchmarkSettings):
    """The arguments of `grpe_dgl.models.gcn.model.GCN` that a dataset does not decide."""

    NAME: ClassVar = "gcn"
    PRESETS: ClassVar = {"100k": {"layers": 4, "hidden_size": 146}, "500k": {"layers": 16, "hidden_size": 172}}

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width = self.hidden_size
        return self.count_input(schema) + self.layers * (width * width + 3 * width) + self.count_head(schema)
