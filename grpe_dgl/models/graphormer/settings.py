"""The settings of Graphormer; apart from the model so that recipes can be read without loading torch."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from grpe_dgl.errors import InputError
from grpe_dgl.models.transformer_settings import TransformerSettings, linear_size, require
from grpe_dgl.relations import MAX_DISTANCE_LIMIT
from grpe_dgl.schema import Schema
from grpe_dgl.views import PairView

COLUMN_ROWS = 512  # of the tables for several columns; column f begins at row 512 f


class TableRows(NamedTuple):
    """The rows of each table of the authors' code. Row 0 stands for padding and is not used here."""

    nodes: int
    edges: int
    hops: int
    """Matrices of path edges, one a hop."""
    distances: int
    degrees: int


@dataclass(frozen=True, kw_only=True)
class GraphormerSettings(TransformerSettings):
    """The arguments of `grpe_dgl.models.graphormer.model.Graphormer` that a dataset does not decide.

    In a file, ``preset`` (slim, small, base or large) may stand for the sizes, which override it one by one.
    """

    NAME: ClassVar = "graphormer"
    PRESETS: ClassVar = {
        "slim": {"layers": 12, "hidden_size": 80, "ffn_size": 80, "num_heads": 8, "tables": "zinc"},
        "small": {"layers": 6, "hidden_size": 512, "ffn_size": 512, "num_heads": 32},
        "base": {"layers": 12, "hidden_size": 768, "ffn_size": 768, "num_heads": 32},
        "large": {"layers": 18, "hidden_size": 1024, "ffn_size": 1024, "num_heads": 32},
    }
    CHANGEABLE: ClassVar = ("dropout", "attention_dropout", "input_dropout")

    ffn_size: int
    path_edges: int = 20
    """How many edges of a path are encoded (``multi_hop_max_dist``)."""
    tables: Literal["zinc", "ogb"] = "ogb"
    """Sizes of the embedding tables: the authors' for ZINC (one column of up to 61 values) or for OGB (512 rows a
    column)."""
    dropout: float = 0.1
    attention_dropout: float = 0.1
    input_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.ffn_size >= 1, "model.ffn_size", self.ffn_size, "1 or more")
        rows = 40 if self.tables == "zinc" else 128
        require(1 <= self.path_edges <= rows, "model.path_edges", self.path_edges, f"1..{rows}")

    @property
    def max_distance(self) -> int:
        """The largest distance with a row of its own in the table of distances."""
        return 37 if self.tables == "zinc" else MAX_DISTANCE_LIMIT

    @property
    def view(self) -> PairView:
        """The pair graph with the edges along shortest paths, virtual node included."""
        return PairView(max_distance=self.max_distance, path_edges=self.path_edges)

    def describe(self) -> str:
        """Return the model's size in a line."""
        return f"{super().describe()}, FFN {self.ffn_size}, paths of {self.path_edges} edges, tables {self.tables}"

    def table_rows(self, schema: Schema) -> TableRows:
        """Return the rows of each table for data of a schema; raises where a column has more values than rows."""
        node_columns = schema.node_vocabulary or (1,)
        if self.tables == "zinc":
            rows = TableRows(nodes=64, edges=64, hops=40, distances=40, degrees=64)
            if len(node_columns) > 1 or len(schema.edge_columns) > 1:
                raise InputError(
                    f"model.tables is 'zinc' and the data has {len(node_columns)} node and {len(schema.edge_columns)} "
                    "edge columns; accepted: one of each, or model.tables ogb"
                )
            largest = 64
        else:
            largest = COLUMN_ROWS
            nodes, edges = (COLUMN_ROWS * len(columns) + 1 for columns in (node_columns, schema.edge_columns))
            rows = TableRows(nodes=nodes, edges=edges, hops=128, distances=512, degrees=512)
        for key, sizes, first in (("node_vocabulary", node_columns, 2), ("edge_columns", schema.edge_columns, 3)):
            # As the authors' rows begin after those for padding and missing edges, the last ones would not fit.
            if max(sizes) + first > largest:
                raise InputError(
                    f"{key} is {list(sizes)} and model.tables {self.tables!r}; accepted: columns of up to "
                    f"{largest - first} values"
                )
        return rows

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width, heads = self.hidden_size, self.num_heads
        rows = self.table_rows(schema)
        nodes = rows.nodes * width
        if schema.node_vocabulary is None:
            nodes = linear_size(schema.node_features or 0, width)
        tables = nodes + 2 * rows.degrees * width + (rows.edges + rows.distances + 1) * heads + width
        feed_forward = linear_size(width, self.ffn_size) + linear_size(self.ffn_size, width)
        layer = 4 * linear_size(width, width) + feed_forward + 4 * width
        head = linear_size(width, schema.task.num_outputs)
        return tables + rows.hops * heads * heads + self.layers * layer + 2 * width + head

    def arguments(self) -> dict[str, Any]:
        """Return the sizes and dropouts that layers take."""
        return {
            "hidden_size": self.hidden_size,
            "num_heads": self.num_heads,
            "ffn_size": self.ffn_size,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
        }
