"""The settings of EGT; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from grpe_dgl.models.transformer_settings import TransformerSettings, linear_size, require
from grpe_dgl.relations import MAX_DISTANCE_LIMIT, Relations
from grpe_dgl.schema import Schema
from grpe_dgl.views import PairView

_MEDIUM: dict[str, Any] = {"hidden_size": 64, "num_heads": 8, "node_ffn": 2.0, "edge_ffn": 2.0}
_LARGE: dict[str, Any] = {
    "edge_size": 64,
    "num_heads": 32,
    "node_ffn": 1.0,
    "edge_ffn": 1.0,
    "distances": "exact",
    "no_edge_row": False,
    "node_column_rows": 128,
    "edge_column_rows": 8,
    "scale_degree": True,
    "virtual_nodes": 4,
    "head_ratios": (1.0, 1.0),
    "norm_epsilon": 1e-5,
}


@dataclass(frozen=True, kw_only=True)
class EGTSettings(TransformerSettings):
    """The arguments of `grpe_dgl.models.egt.model.EGT` that a dataset does not decide.

    The defaults are those of the authors' first code (TensorFlow; ZINC, PATTERN, CLUSTER). In a file, ``preset`` may
    stand for a published model, whose values can be overridden one by one: zinc, sbm, or of their second code (PyTorch;
    molecules) 47m, 90m, 110m.
    """

    NAME: ClassVar = "egt"
    PRESETS: ClassVar = {
        "zinc": {**_MEDIUM, "layers": 10, "edge_size": 64},
        "sbm": {**_MEDIUM, "layers": 16, "edge_size": 8, "edge_features": False},
        "47m": {**_LARGE, "layers": 18, "hidden_size": 640},
        "90m": {**_LARGE, "layers": 24, "hidden_size": 768},
        "110m": {**_LARGE, "layers": 30, "hidden_size": 768},
    }
    CHANGEABLE: ClassVar = ("attention_dropout", "random_mask")

    edge_size: int
    """Width of the pairs' states."""
    node_ffn: float = 2.0
    """Width inside the nodes' FFN, as a multiple of hidden_size."""
    edge_ffn: float = 2.0
    """Width inside the pairs' FFN, as a multiple of edge_size."""
    max_distance: int = 16
    """Distances are distinguished up to this number of hops (``upto_hop``)."""
    distances: Literal["within", "exact"] = "within"
    """``within``: a linear map of the flags "within k hops"; ``exact``: a row per distance."""
    edge_features: bool = True
    """Whether pairs with an edge have its type's vector."""
    no_edge_row: bool = True
    """Whether pairs without an edge have a trained vector in the table of edge types."""
    node_column_rows: int = 0
    """Rows of the embedding table per node column; 0: one per value."""
    edge_column_rows: int = 0
    """Rows of the embedding table per edge column; 0: one per value."""
    svd_size: int = 8
    """How many singular vectors of A + I are added to the nodes; 0 for none."""
    scale_degree: bool = False
    """Whether attention is multiplied by the logarithm of one plus the sum of its gates."""
    virtual_nodes: int = 0
    """How many learned virtual nodes every graph has; read out at graph level if there are any, else the mean."""
    see_padding: bool = False
    """Whether virtual nodes attend to padding, and padding to them, as in the authors' second code. A prediction then
    depends on the sizes of the other graphs of its batch; only good for reproducing that code's numbers."""
    head_ratios: tuple[float, ...] = (0.5, 0.25)
    """Widths inside the head, as multiples of hidden_size."""
    norm_epsilon: float = 1e-3
    """Of the layer norms."""
    attention_dropout: float = 0.0
    random_mask: float = 0.0
    """In training, the probability that a head does not see a key (published for ZINC and SBMs: 0.1)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.edge_size >= 1, "model.edge_size", self.edge_size, "1 or more")
        for name in ("svd_size", "virtual_nodes", "node_column_rows", "edge_column_rows"):
            require(getattr(self, name) >= 0, f"model.{name}", getattr(self, name), "0 or more")
        for name in ("node_ffn", "edge_ffn", "norm_epsilon"):
            require(getattr(self, name) > 0, f"model.{name}", getattr(self, name), "more than 0")
        require(min(self.head_ratios, default=1) > 0, "model.head_ratios", list(self.head_ratios), "more than 0 each")
        limit = MAX_DISTANCE_LIMIT
        require(1 <= self.max_distance <= limit, "model.max_distance", self.max_distance, f"1..{limit}")

    @property
    def view(self) -> PairView:
        """The pair graph without a virtual node; the model has its own."""
        encodings = (f"svd_self_loops:{self.svd_size}",) if self.svd_size else ()
        return PairView(max_distance=self.max_distance, virtual_node=False, encodings=encodings)

    def describe(self) -> str:
        """Return the model's size in a line."""
        return (
            f"{super().describe()}, pairs {self.edge_size}, max_distance {self.max_distance}, distances "
            f"{self.distances}, SVD {self.svd_size}, {self.virtual_nodes} virtual nodes"
        )

    def column_sizes(self, schema: Schema) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows of every node and every edge column; raises where a column has more values than rows."""
        found = []
        for key, columns, rows in (
            ("node", schema.node_vocabulary or (), self.node_column_rows),
            ("edge", schema.edge_columns, self.edge_column_rows),
        ):
            fits = not rows or max(columns, default=0) <= rows
            most = max(columns, default=0)
            require(fits, f"model.{key}_column_rows", rows, f"0, or at least the {most} values of a column of the data")
            found.append(tuple(rows or size for size in columns))
        return found[0], found[1]

    def head_sizes(self, level: str) -> list[int]:
        """Return the widths of the head's inputs, but for its outputs."""
        vectors = max(self.virtual_nodes, 1) if level == "graph" else 1
        return [vectors * self.hidden_size, *(round(self.hidden_size * ratio) for ratio in self.head_ratios)]

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width, edge, heads = self.hidden_size, self.edge_size, self.num_heads
        node_columns, edge_columns = self.column_sizes(schema)
        if schema.node_vocabulary is not None:
            total = (1 + sum(node_columns)) * width
        else:
            total = linear_size(schema.node_features or 0, width)
        total += linear_size(2 * self.svd_size, width) if self.svd_size else 0
        total += (self.max_distance + (2 if self.distances == "exact" else 1)) * edge
        total += (1 + sum(edge_columns)) * edge if self.edge_features else 0
        total += self.virtual_nodes * (width + edge)
        node_ffn, edge_ffn = round(width * self.node_ffn), round(edge * self.edge_ffn)
        node = 4 * linear_size(width, width) + linear_size(width, node_ffn) + linear_size(node_ffn, width) + 4 * width
        read = 2 * linear_size(edge, heads) + 2 * edge
        write = linear_size(heads, edge) + linear_size(edge, edge_ffn) + linear_size(edge_ffn, edge) + 2 * edge
        total += self.layers * (node + read) + (self.layers - 1) * write + 2 * width
        sizes = [*self.head_sizes(schema.task.level), schema.task.num_outputs]
        return total + sum(linear_size(a, b) for a, b in zip(sizes, sizes[1:], strict=False))


def relations_of(settings: EGTSettings, schema: Schema) -> Relations:
    """Return the codes of the pair graphs that a model with these settings reads."""
    return Relations(settings.max_distance, schema.num_edge_types)
