"""The settings of GIN."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.models.message_passing_settings import linears
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class GINSettings(BenchmarkSettings):
    """The arguments of `grpe_dgl.models.gin.model.GIN` that a dataset does not decide."""

    NAME: ClassVar = "gin"
    PRESETS: ClassVar = {"100k": {"layers": 4, "hidden_size": 110}, "500k": {"layers": 16, "hidden_size": 124}}

    readout: Literal["mean", "sum"] = "sum"

    def count_head(self, schema: Schema) -> int:
        """Return the number of parameters of the linear maps that read the states."""
        return (self.layers + 1) * linears([self.hidden_size, schema.task.num_outputs])

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width = self.hidden_size
        layer = 1 + 2 * linears([width, width]) + 4 * width
        return self.count_input(schema) + self.layers * layer + self.count_head(schema)
