"""The settings of DeeperGCN; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size, require
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class DeeperGCNSettings(MessagePassingSettings):
    """DeeperGCN with blocks of the kind ``res+``, with or without a virtual node."""

    NAME: ClassVar = "deepergcn"
    PRESETS: ClassVar = {
        "molhiv": {
            "layers": 7,
            "hidden_size": 256,
            "aggregation": "softmax",
            "temperature": 1.0,
            "learn_temperature": True,
            "mlp_layers": 1,
            "virtual_node": False,
        },
        "molpcba_vn": {
            "layers": 14,
            "hidden_size": 256,
            "aggregation": "softmax_sg",
            "temperature": 0.1,
            "learn_temperature": False,
            "mlp_layers": 2,
            "virtual_node": True,
        },
    }

    aggregation: Literal["softmax", "softmax_sg"] = "softmax"
    """``softmax_sg``: no gradient flows through the weights (sg: stop gradient)."""
    temperature: float = 1.0
    """What messages are multiplied with before the softmax; the start value where it is learned."""
    learn_temperature: bool = False
    mlp_layers: int = 1
    """Linear maps of a convolution; those between the first and the last are twice as wide."""
    virtual_node: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.mlp_layers >= 1, "model.mlp_layers", self.mlp_layers, "1 or more")
        require(
            not (self.learn_temperature and self.aggregation == "softmax_sg"),
            "model.learn_temperature",
            self.learn_temperature,
            "false with model.aggregation softmax_sg, which has no gradient for it",
        )

    @property
    def mlp_widths(self) -> list[int]:
        """The widths of a convolution's MLP, input and output included."""
        return [self.hidden_size, *[2 * self.hidden_size] * (self.mlp_layers - 1), self.hidden_size]

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width = self.hidden_size
        mlp = linears(self.mlp_widths) + sum(2 * inner for inner in self.mlp_widths[1:-1])
        layer = (
            sum(schema.edge_columns) * width + mlp + self.learn_temperature + 2 * width
        )  # 2 * width: the block's norm
        virtual = width + (self.layers - 1) * (linears([width] * 3) + 4 * width) if self.virtual_node else 0
        head = linears([width, schema.task.num_outputs])
        return node_input_size(schema, width) + self.layers * layer + virtual + head
