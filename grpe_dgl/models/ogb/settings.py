"""The settings of OGB's GCN and GIN."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size, require
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class OGBSettings(MessagePassingSettings):
    """The arguments of `grpe_dgl.models.ogb.model.OGBModel` that a dataset does not decide."""

    CONVOLUTION: ClassVar[str]
    PRESETS: ClassVar = {
        "published": {"layers": 5, "hidden_size": 300},
        "lsc": {"layers": 5, "hidden_size": 600, "expansion": 1, "readout": "sum"},
    }

    virtual_node: bool = False
    """Whether every graph has a state of its own that all of its nodes read and write."""
    expansion: int = 2
    """Width inside the perceptrons of GIN and of the virtual node, as a multiple of hidden_size."""
    readout: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.expansion >= 1, "model.expansion", self.expansion, "1 or more")

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width = self.hidden_size
        count = node_input_size(schema, width) + linears([width, schema.task.num_outputs])
        inner = self.expansion * width
        perceptron = linears([width, inner, width]) + 2 * inner
        convolution = perceptron + 1 if self.CONVOLUTION == "gin" else linears([width, width]) + width
        count += self.layers * (convolution + sum(schema.edge_columns) * width + 2 * width)
        if self.virtual_node:
            count += width + (self.layers - 1) * (perceptron + 2 * width)
        return count


@dataclass(frozen=True, kw_only=True)
class OGBGCNSettings(OGBSettings):
    """Those of OGB's GCN."""

    NAME: ClassVar = "ogb_gcn"
    CONVOLUTION: ClassVar = "gcn"


@dataclass(frozen=True, kw_only=True)
class OGBGINSettings(OGBSettings):
    """Those of OGB's GIN."""

    NAME: ClassVar = "ogb_gin"
    CONVOLUTION: ClassVar = "gin"
