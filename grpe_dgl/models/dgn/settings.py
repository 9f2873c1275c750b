"""The settings of DGN; apart from the model so that recipes can be read without loading torch."""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from grpe_dgl.models.message_passing_settings import MessagePassingSettings, linears, node_input_size, require
from grpe_dgl.schema import Schema
from grpe_dgl.views import GraphView

AGGREGATORS = ("mean", "sum", "max", "min")
SCALERS = ("identity", "amplification", "attenuation")
DIRECTIONAL = re.compile(r"dir([1-9])-(av|dx)")
"""``dir1-dx``: the number of the eigenvector, the constant one not counted, and the kind."""


@dataclass(frozen=True, kw_only=True)
class DGNSettings(MessagePassingSettings):
    """DGN with its authors' layers ``simple`` (messages are neighbours' states) and ``complex`` (they are computed)."""

    NAME: ClassVar = "dgn"
    PRESETS: ClassVar = {
        "zinc": {
            "layer": "complex",
            "layers": 4,
            "hidden_size": 285,
            "edge_size": 10,
            "aggregators": ("mean", "dir1-dx", "max", "min"),
            "scalers": SCALERS,
            "mean_log_degree": 1.1206,
            "graph_norm": True,
            "readout": "sum",
            "dropout": 0.05,
        },
        "molhiv": {
            "layer": "simple",
            "layers": 4,
            "hidden_size": 70,
            "aggregators": ("mean", "max", "min", "dir1-av", "dir1-dx"),
            "scalers": ("identity",),
            "graph_norm": False,
            "readout": "mean",
            "dropout": 0.3,
        },
        "molpcba": {
            "layer": "complex",
            "layers": 4,
            "hidden_size": 480,
            "edge_size": 16,
            "aggregators": ("mean", "sum", "max", "dir1-dx"),
            "scalers": ("identity",),
            "graph_norm": True,
            "readout": "sum",
            "dropout": 0.2,
        },
    }

    layer: Literal["simple", "complex"] = "simple"
    edge_size: int = 0
    """Width of the embedding of edges, which only ``complex`` layers read; 0 does without."""
    aggregators: tuple[str, ...] = ("mean", "max", "min", "dir1-av", "dir1-dx")
    """mean, sum, max, min, and along eigenvector k: dirk-av, a weighted mean, and dirk-dx, a derivative."""
    scalers: tuple[str, ...] = ("identity",)
    """identity, amplification and attenuation with the degree; more than one, or identity alone."""
    mean_log_degree: float | None = None
    """The mean of log(degree + 1) over the training nodes, which amplification and attenuation need."""
    graph_norm: bool = False
    """Whether node states are divided by the root of their graph's number of nodes, before the batch norm."""
    readout: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.hidden_size >= 4, "model.hidden_size", self.hidden_size, "4 or more")
        require(self.edge_size >= 0, "model.edge_size", self.edge_size, "0 or more")
        require(
            self.layer == "complex" or self.edge_size == 0, "model.edge_size", self.edge_size, "0 with simple layers"
        )
        fits = all(name in AGGREGATORS or DIRECTIONAL.fullmatch(name) for name in self.aggregators)
        accepted = f"at least one of {', '.join(AGGREGATORS)}, dir1-av, dir1-dx (dir2-av and so on)"
        require(bool(self.aggregators) and fits, "model.aggregators", list(self.aggregators), accepted)
        fits = self.scalers == ("identity",) or (
            len(self.scalers) > 1 and all(name in SCALERS for name in self.scalers)
        )
        require(fits, "model.scalers", list(self.scalers), f"identity, or several of {', '.join(SCALERS)}")
        fits = self.mean_log_degree is None if self.scalers == ("identity",) else (self.mean_log_degree or 0) > 0
        accepted = "a number over 0 with the scalers amplification and attenuation, null with identity alone"
        require(fits, "model.mean_log_degree", self.mean_log_degree, accepted)

    @property
    def eigenvectors(self) -> int:
        """How many eigenvectors the aggregators use, the constant one not counted."""
        found = [DIRECTIONAL.fullmatch(name) for name in self.aggregators]
        return max((int(match[1]) for match in found if match), default=0)

    @property
    def view(self) -> GraphView:
        """The graph itself, with eigenvectors of its combinatorial Laplacian."""
        names = (f"combinatorial_laplacian:{self.eigenvectors}",) if self.eigenvectors else ()
        return GraphView(encodings=names)

    @property
    def aggregated_size(self) -> int:
        """Width of what a layer's last linear map takes."""
        own = 1 if self.layer == "complex" else 0
        return (own + len(self.aggregators) * len(self.scalers)) * self.hidden_size

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width = self.hidden_size
        message = linears([2 * width + self.edge_size, width]) if self.layer == "complex" else 0
        layer = message + linears([self.aggregated_size, width]) + 2 * width
        head = linears([width, width // 2, width // 4, schema.task.num_outputs])
        return node_input_size(schema, width) + sum(schema.edge_columns) * self.edge_size + self.layers * layer + head
