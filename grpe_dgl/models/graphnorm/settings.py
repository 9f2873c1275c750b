"""The settings of GCN-GraphNorm; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class GraphNormSettings(MessagePassingSettings):
    """GCN-GraphNorm as its authors trained it on molhiv; `dropout` is that of the predicted numbers themselves."""

    NAME: ClassVar = "graphnorm"
    PRESETS: ClassVar = {"molhiv": {"layers": 4, "hidden_size": 300}}

    dropout: float = 0.5

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width = self.hidden_size
        layer = sum(schema.edge_columns) * width + linears([width, width]) + 2 * width  # edges, convolution, norm
        return node_input_size(schema, width) + self.layers * layer + linears([width, schema.task.num_outputs])
