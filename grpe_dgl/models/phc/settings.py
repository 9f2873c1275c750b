"""The settings of PHC-GNN; apart from the model so that recipes can be read without loading torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size, require
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class PHCSettings(MessagePassingSettings):
    """PHC-GNN: vectors of `hidden_size` are `components` blocks, which hypercomplex linear maps mix."""

    NAME: ClassVar = "phc"
    CHANGEABLE: ClassVar = ("dropout", "head_sizes", "head_dropout")
    PRESETS: ClassVar = {
        "molhiv": {
            "components": 4,
            "layers": 2,
            "hidden_size": 200,
            "aggregation": "softmax",
            "mlp": True,
            "head_sizes": (128, 32),
            "dropout": 0.3,
            "head_dropout": (0.3, 0.1),
        },
        "molpcba": {
            "components": 2,
            "layers": 7,
            "hidden_size": 512,
            "aggregation": "sum",
            "mlp": False,
            "head_sizes": (768, 256),
            "dropout": 0.1,
            "head_dropout": (0.3, 0.2),
        },
    }

    components: int
    """n: the blocks of a vector; the maps have about 1/n of the parameters of ordinary ones."""
    aggregation: Literal["sum", "softmax"] = "sum"
    mlp: bool = False
    """Whether a convolution has two linear maps, with batch norm and ReLU between, instead of one."""
    skip: Literal["first", "last"] = "first"
    """What is added after a layer: the embedding of the nodes, or the layer's input."""
    head_sizes: tuple[int, ...] = ()
    """Widths of the head's hidden layers."""
    head_dropout: tuple[float, ...] = ()
    """Dropout after each of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.components >= 1, "model.components", self.components, "1 or more")
        for key, sizes in (("hidden_size", (self.hidden_size,)), ("head_sizes", self.head_sizes)):
            for size in sizes:
                fits = size >= 1 and size % self.components == 0
                require(fits, f"model.{key}", size, f"multiples of model.components, which is {self.components}")
        fits = len(self.head_dropout) == len(self.head_sizes) and all(0 <= rate < 1 for rate in self.head_dropout)
        accepted = f"{len(self.head_sizes)} numbers from 0 to below 1, one for each of model.head_sizes"
        require(fits, "model.head_dropout", list(self.head_dropout), accepted)

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width, n, outputs = self.hidden_size, self.components, schema.task.num_outputs
        convolution = self._maps([width] * (3 if self.mlp else 2)) + 2 * width * self.mlp + (self.aggregation != "sum")
        layer = sum(schema.edge_columns) * width + convolution + 2 * width
        pooling = self._maps([width, width]) + linears([width, width // n])
        head = self._maps([width, *self.head_sizes, n * outputs]) + 2 * sum(self.head_sizes)
        head += linears([n * outputs, outputs])
        return node_input_size(schema, width) + self.layers * layer + pooling + head

    def _maps(self, widths: Sequence[int]) -> int:
        """Return the number of parameters of hypercomplex linear maps from each width to the next."""
        n = self.components
        return sum(n**3 + a * b // n + b for a, b in zip(widths, widths[1:], strict=False))
