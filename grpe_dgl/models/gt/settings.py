"""The settings of GT; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.transformer_settings import (
    TransformerSettings,
    halving_head_size,
    linear_size,
    node_input_size,
    require,
)
from grpe_dgl.schema import Schema
from grpe_dgl.views import GraphView


@dataclass(frozen=True, kw_only=True)
class GTSettings(TransformerSettings):
    """The arguments of `grpe_dgl.models.gt.model.GT` that a dataset does not decide.

    In a file, ``preset`` (zinc or sbm) may stand for a published model, whose values can be overridden one by one.
    """

    NAME: ClassVar = "gt"
    PRESETS: ClassVar = {
        "zinc": {"layers": 10, "hidden_size": 64, "num_heads": 8, "laplacian_size": 8},
        "sbm": {"layers": 10, "hidden_size": 80, "num_heads": 8, "laplacian_size": 10, "edge_features": False},
    }
    CHANGEABLE: ClassVar = ("dropout", "input_dropout")

    laplacian_size: int = 8
    """How many eigenvectors of the Laplacian are added to the nodes (published: ZINC 8, CLUSTER 10, PATTERN 2); 0 for
    none."""
    edge_features: bool = True
    """Whether edges have states, which attention reads and every layer updates."""
    readout: Literal["mean", "sum"] = "mean"
    dropout: float = 0.0
    input_dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.laplacian_size >= 0, "model.laplacian_size", self.laplacian_size, "0 or more")
        require(self.hidden_size >= 4, "model.hidden_size", self.hidden_size, "4 or more, as the head quarters it")

    @property
    def view(self) -> GraphView:
        """The graph itself, with Laplacian eigenvectors."""
        return GraphView(encodings=(f"laplacian:{self.laplacian_size}",) if self.laplacian_size else ())

    def describe(self) -> str:
        """Return the model's size in a line."""
        edges = "with" if self.edge_features else "without"
        return f"{super().describe()}, {self.laplacian_size} eigenvectors, {edges} edge states"

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width = self.hidden_size
        states = 2 if self.edge_features else 1
        total = node_input_size(schema, width)
        total += linear_size(self.laplacian_size, width) if self.laplacian_size else 0
        total += sum(schema.edge_columns) * width if self.edge_features else 0
        # Query, key, value and, for edges, their projection; then what follows attention, see PostNorm.
        update = 5 * width * width + 8 * width
        total += self.layers * ((2 + states) * width * width + states * update)
        return total + halving_head_size(width, schema.task.num_outputs)
