"""The settings of SAN; apart from the model so that recipes can be read without loading torch."""

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
from grpe_dgl.views import PairView


@dataclass(frozen=True, kw_only=True)
class SANSettings(TransformerSettings):
    """The arguments of `grpe_dgl.models.san.model.SAN` that a dataset does not decide.

    In a file, ``preset`` (zinc, cluster, pattern, molhiv or molpcba: the authors' ``optimized`` configurations) may
    stand for a published model, whose values can be overridden one by one.
    """

    NAME: ClassVar = "san"
    PRESETS: ClassVar = {
        "zinc": {
            "layers": 10, "hidden_size": 56, "num_heads": 8, "gamma": 1e-5,
            "encoding_size": 8, "encoding_layers": 2, "encoding_heads": 4,
        },
        "cluster": {
            "layers": 16, "hidden_size": 48, "num_heads": 8, "gamma": 0.1, "added_row": True,
            "encoding_size": 16, "encoding_layers": 1, "encoding_heads": 4,
        },
        "pattern": {
            "layers": 4, "hidden_size": 80, "num_heads": 10, "gamma": 0.01, "added_row": True,
            "encoding_size": 16, "encoding_layers": 3, "encoding_heads": 4,
        },
        "molhiv": {
            "layers": 10, "hidden_size": 64, "num_heads": 4, "gamma": 1e-6, "random_signs": True, "added_row": True,
            "encoding_size": 16, "encoding_layers": 3, "encoding_heads": 4,
        },
        "molpcba": {
            "layers": 5, "hidden_size": 304, "num_heads": 4, "gamma": 1e-6, "random_signs": True,
            "encoding_size": 16, "encoding_layers": 3, "encoding_heads": 4,
        },
    }  # fmt: skip
    CHANGEABLE: ClassVar = ("dropout", "input_dropout", "encoding_dropout", "random_signs")

    gamma: float = 0.1
    """The weight of pairs without an edge against those with one, 0 to 1."""
    eigenvectors: int = 10
    """m: how many eigenvectors of the Laplacian are read, the first among them."""
    encoding_size: int = 16
    """Width of the learned positional encoding, part of hidden_size."""
    encoding_layers: int = 1
    encoding_heads: int = 4
    encoding_ffn: int = 2048
    """Width inside the FFN of the encoding's transformer."""
    added_row: bool = False
    """Whether pairs without an edge have an embedding of their own (the authors' SBM models) or that of edge type 0
    (ZINC, where no bond has it, and molpcba). The authors' molhiv model has such a row but reads that of type 0; here,
    with the same number of parameters, the row is used."""
    random_signs: bool = False
    """Whether eigenvectors get random signs in training (the authors' OGB models)."""
    readout: Literal["sum", "mean"] = "sum"
    dropout: float = 0.0
    input_dropout: float = 0.0
    encoding_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("eigenvectors", "encoding_size", "encoding_layers", "encoding_heads", "encoding_ffn"):
            require(getattr(self, name) >= 1, f"model.{name}", getattr(self, name), "1 or more")
        require(0 <= self.gamma <= 1, "model.gamma", self.gamma, "0 to 1")
        require(
            self.encoding_size < self.hidden_size,
            "model.encoding_size",
            self.encoding_size,
            f"less than model.hidden_size, which is {self.hidden_size}",
        )
        require(
            self.encoding_size % self.encoding_heads == 0,
            "model.encoding_heads",
            self.encoding_heads,
            f"a divisor of model.encoding_size, which is {self.encoding_size}",
        )
        require(self.hidden_size >= 4, "model.hidden_size", self.hidden_size, "4 or more, as the head quarters it")

    @property
    def view(self) -> PairView:
        """The pair graph without a virtual node, with the Laplacian's first eigenvectors."""
        return PairView(max_distance=1, virtual_node=False, encodings=(f"spectrum:{self.eigenvectors}",))

    def describe(self) -> str:
        """Return the model's size in a line."""
        return f"{super().describe()}, gamma {self.gamma:g}, {self.eigenvectors} eigenvectors"

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width, small = self.hidden_size, self.encoding_size
        total = node_input_size(schema, width - small)
        total += (sum(schema.edge_columns) + self.added_row) * width + linear_size(2, small)
        feed_forward = linear_size(small, self.encoding_ffn) + linear_size(self.encoding_ffn, small)
        total += self.encoding_layers * (4 * linear_size(small, small) + feed_forward + 4 * small)
        update = 5 * width * width + 8 * width  # see PostNorm
        total += self.layers * (7 * width * width + update)
        return total + halving_head_size(width, schema.task.num_outputs)
