"""The settings of GINE and GINE+; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size, require
from grpe_dgl.relations import MAX_DISTANCE_LIMIT
from grpe_dgl.schema import Schema
from grpe_dgl.views import GraphView, PairView, View


@dataclass(frozen=True, kw_only=True)
class GINESettings(MessagePassingSettings):
    """GINE, or GINE+ whose convolutions reach to nodes at a distance of `radius`."""

    NAME: ClassVar = "gine"
    PRESETS: ClassVar = {
        "gineplus": {"convolution": "gine+", "layers": 5, "hidden_size": 400, "radius": 3, "virtual_node": True},
        "gine_vn": {"convolution": "gine", "layers": 5, "hidden_size": 400, "virtual_node": True},
    }

    convolution: Literal["gine", "gine+"] = "gine"
    radius: int = 3
    """GINE+: the largest distance that messages come from; layer i, counted from 1, has the radius min(i, radius)."""
    virtual_node: bool = True
    dropout: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require(1 <= self.radius <= MAX_DISTANCE_LIMIT, "model.radius", self.radius, f"1..{MAX_DISTANCE_LIMIT}")

    @property
    def view(self) -> View:
        """GINE reads the graph itself, GINE+ the pairs of nodes with their distances and edges."""
        if self.convolution == "gine":
            return GraphView()
        return PairView(max_distance=self.radius, virtual_node=False, codes=("spd", "edge"))

    def radius_of(self, layer: int) -> int:
        """Return the radius of a layer, counted from 0."""
        return min(layer + 1, self.radius)

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width = self.hidden_size
        mlp = linears([width, 2 * width, width]) + 4 * width
        if self.convolution == "gine":
            weights = self.layers
        else:
            weights = sum(self.radius_of(layer) + 1 for layer in range(self.layers)) * width
        layer = sum(schema.edge_columns) * width + mlp + 2 * width
        virtual = width + (self.layers - 1) * (mlp + 2 * width) if self.virtual_node else 0
        head = linears([width, schema.task.num_outputs])
        return node_input_size(schema, width) + self.layers * layer + weights + virtual + head
