"""The settings of PNA."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from grpe_dgl.models.benchmark_settings import BenchmarkSettings
from grpe_dgl.models.message_passing_settings import linears, require
from grpe_dgl.schema import Schema

Aggregator = Literal["mean", "max", "min", "std", "sum"]
Scaler = Literal["identity", "amplification", "attenuation"]
ALL_SCALERS: tuple[Scaler, ...] = ("identity", "amplification", "attenuation")


@dataclass(frozen=True, kw_only=True)
class PNASettings(BenchmarkSettings):
    """The arguments of `grpe_dgl.models.pna.model.PNA` that a dataset does not decide."""

    NAME: ClassVar[str] = "pna"
    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "zinc": {"layers": 16, "hidden_size": 70, "towers": 5, "edge_size": 40, "readout": "sum"},
        "molhiv": {"layers": 4, "hidden_size": 80, "simple": True, "readout": "mean"},
    }

    aggregators: tuple[Aggregator, ...] = ("mean", "max", "min", "std")
    scalers: tuple[Scaler, ...] = ALL_SCALERS
    mean_log_degree: float | None = None
    """delta of the scalers: the mean of log(in-degree + 1) over the training split's nodes."""
    towers: int = 1
    """Parts that the channels are divided into."""
    edge_size: int = 0
    """Width of the embedding of edge features; 0 does not read them."""
    graph_norm: bool = True
    """Whether states are divided by the root of their graph's number of nodes before batch norm."""
    simple: bool = False
    """Whether layers are those of PNA's molhiv model, which have neither towers, edges nor graph norm."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("aggregators", "scalers"):
            names = getattr(self, key)
            require(
                len(names) > 0 and len(set(names)) == len(names), f"model.{key}", list(names), "at least one, each once"
            )
        require(
            self.towers >= 1 and self.hidden_size % self.towers == 0,
            "model.towers",
            self.towers,
            f"a divisor of model.hidden_size, which is {self.hidden_size}",
        )
        require(self.edge_size >= 0, "model.edge_size", self.edge_size, "0 or more")
        require(
            set(self.scalers) == {"identity"} or (self.mean_log_degree is not None and self.mean_log_degree > 0),
            "model.mean_log_degree",
            self.mean_log_degree,
            "a number over 0: the mean of log(in-degree + 1) over the training nodes, which "
            "grpe_dgl.data.load(...).mean_log_degree() returns",
        )
        if self.simple:
            for key, only in (("towers", 1), ("edge_size", 0)):
                require(getattr(self, key) == only, f"model.{key}", getattr(self, key), f"{only} with model.simple")

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters for data of a schema."""
        width, blocks = self.hidden_size, len(self.aggregators) * len(self.scalers)
        part = width // self.towers
        if self.simple:
            layer = linears([blocks * width, width])
        else:
            layer = self.towers * (linears([2 * part + self.edge_size, part]) + linears([(blocks + 1) * part, part]))
            layer += linears([width, width])
        edges = sum(schema.edge_columns) * self.edge_size
        return self.count_input(schema) + edges + self.layers * (layer + 2 * width) + self.count_head(schema)
