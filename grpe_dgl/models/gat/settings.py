"""The settings of GAT."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.models.message_passing_settings import require
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class GATSettings(BenchmarkSettings):
    """The arguments of `grpe_dgl.models.gat.model.GAT` that a dataset does not decide."""

    NAME: ClassVar = "gat"
    PRESETS: ClassVar = {
        "100k": {"layers": 4, "hidden_size": 152, "num_heads": 8},
        "500k": {"layers": 16, "hidden_size": 176, "num_heads": 8},
    }

    num_heads: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.num_heads >= 1 and self.hidden_size % self.num_heads == 0,
            "model.num_heads",
            self.num_heads,
            f"a divisor of model.hidden_size, which is {self.hidden_size}",
        )

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width = self.hidden_size
        return self.count_input(schema) + self.layers * (width * width + 5 * width) + self.count_head(schema)
