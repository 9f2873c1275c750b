"""What the settings of the models of benchmarking-gnns have in common."""

from dataclasses import dataclass
from typing import Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size
from grpe_dgl.schema import Schema
from grpe_dgl.views import Encoding, GraphView


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings(MessagePassingSettings):
    """Layers with batch norm and residual connections, a readout of the nodes and a head."""

    readout: Literal["mean", "sum"] = "mean"
    encoding: str | None = None
    """A positional encoding that is added to the nodes' embedding: ``laplacian:8``, ``random_walk:16``, ``svd:8``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoding is not None:
            Encoding.parse(self.encoding, key="model.encoding")

    @property
    def view(self) -> GraphView:
        """The graph itself, with the positional encoding if there is one."""
        return GraphView(encodings=() if self.encoding is None else (self.encoding,))

    def count_input(self, schema: Schema) -> int:
        """Return the number of parameters of what embeds the nodes."""
        count = node_input_size(schema, self.hidden_size)
        if self.encoding is not None:
            count += linears([Encoding.parse(self.encoding).columns, self.hidden_size])
        return count

    def count_head(self, schema: Schema) -> int:
        """Return the number of parameters of `grpe_dgl.models.halving_head.HalvingHead`."""
        width = self.hidden_size
        return linears([width, width // 2, width // 4, schema.task.num_outputs])
