"""What a dataset's graphs look like and what is predicted: one object from the source to the exported model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any, Self, TypeVar

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short
from grpe_dgl.objectives import METRICS
from grpe_dgl.vocabularies import VOCABULARIES, edge_columns_of

LEVELS = ("graph", "node")
KINDS = ("regression", "binary", "multiclass")
LARGEST_SIZE = 1 << 24
"""The largest number of node columns' values, continuous features or edge types that is read from a file."""
Codes = TypeVar("Codes")  # integers: a number, an array or a tensor


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be predicted."""

    level: str
    """``"graph"`` or ``"node"``."""
    kind: str
    """``"regression"``, ``"binary"`` (one or many yes/no targets) or ``"multiclass"`` (one target of many classes)."""
    targets: tuple[str, ...]
    """The name of each target."""
    classes: tuple[str, ...] = ()
    """Multiclass: the name of each class, in the order of the labels."""
    positive: tuple[str, ...] = ()
    """Binary: the class that 1 stands for, per target; empty where the labels were 0 and 1 already."""
    negative: tuple[str, ...] = ()
    """Binary: the class that 0 stands for, per target."""
    metric: str
    """The dataset's own metric, a name of `grpe_dgl.objectives`."""
    standardise: bool = False
    """Regression: whether models are trained on targets minus the training split's mean, over its deviation."""

    @property
    def num_outputs(self) -> int:
        """How many numbers a model predicts per graph or node."""
        return len(self.classes) if self.kind == "multiclass" else len(self.targets)

    def output_columns(self) -> list[str]:
        """Return the name of each predicted number in a table: a prediction or a probability."""
        if self.kind == "multiclass":
            return [f"probability_{name}" for name in self.classes]
        if self.kind == "regression":
            return [f"predicted_{name}" for name in self.targets]
        positive = self.positive or ("1",) * len(self.targets)
        return [
            f"probability_{name}" if named == "1" else f"probability_{name}_{named}"
            for name, named in zip(self.targets, positive, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The form of a dataset's graphs, the task, and the unit of its targets.

    Shared by source, manifest, checkpoint, model building, prediction and export.
    """

    name: str
    """The dataset's name: ``zinc``, ``ogbg-molhiv``, the CSV's name."""
    task: Task
    vocabulary: str
    """Which features these are, so that models and data can be matched: ``ogb`` (OGB's atom and bond columns),
    ``zinc``, ``pattern``, ``cluster`` or ``custom``."""
    node_vocabulary: tuple[int, ...] | None = None
    """Integer node features: how many values each column has. None for continuous ones."""
    node_features: int | None = None
    """Continuous node features: how many. None for integer ones."""
    edge_columns: tuple[int, ...] = (1,)
    """How many values each edge column has. Edges are stored as one code, the columns as a mixed-radix number."""
    undirected: bool = True
    """Whether an edge can be walked in both directions when distances are measured."""
    standardised_molecules: bool = False
    """Whether molecules are reduced to their largest fragment and neutralised before they become graphs; see
    `grpe_dgl.data.molecules.standardise`."""
    target_mean: tuple[float, ...] | None = None
    """Regression: of each target over the training split, missing labels left out; None before the split is known."""
    target_deviation: tuple[float, ...] | None = None
    """The same for the standard deviation (over the number of labels, not one less); 1 where it is 0."""

    def __post_init__(self) -> None:
        if (self.node_vocabulary is None) == (self.node_features is None):
            raise InputError("give either node_vocabulary (integer columns) or node_features (continuous), not both")
        if self.task.level not in LEVELS or self.task.kind not in KINDS:
            raise InputError(
                f"the task is {self.task.kind!r} per {self.task.level!r}; accepted: {', '.join(KINDS)} per "
                f"{' or '.join(LEVELS)}"
            )
        for key, sizes in (("node_vocabulary", self.node_vocabulary or (1,)), ("edge_columns", self.edge_columns)):
            if not sizes or min(sizes) < 1:
                raise InputError(f"{key} is {list(sizes)}; accepted: at least one column, each of 1 value or more")

    @property
    def num_edge_types(self) -> int:
        """How many edge codes there are: every combination of the edge columns' values."""
        return prod(self.edge_columns)

    @property
    def num_node_columns(self) -> int:
        """How many numbers a node has."""
        return len(self.node_vocabulary) if self.node_vocabulary is not None else int(self.node_features or 0)

    @property
    def target_scale(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Mean and deviation of standardised targets: predictions are mean + deviation * output. None otherwise."""
        if not self.task.standardise or self.target_mean is None or self.target_deviation is None:
            return None
        return self.target_mean, self.target_deviation

    def decode_edges(self, code: Codes) -> list[Codes]:
        """Return the edge columns of edge codes: one array or tensor per column, each of the shape of `code`."""
        columns: list[Any] = []
        rest: Any = code
        for size in reversed(self.edge_columns):
            columns.append(rest % size)
            rest = rest // size
        return columns[::-1]

    def with_target_statistics(self, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Self:
        """Return the schema with the training split's mean and deviation of each target."""
        return replace(self, target_mean=mean, target_deviation=deviation)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, numbers and texts."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` returned; also accepts that of version 0.1, without `edge_columns`."""
        fields = dict(plain)
        task = fields["task"]
        _check_types(fields)
        names = {key: tuple(task[key]) for key in ("targets", "classes")}
        names |= {key: tuple(task.get(key, ())) for key in ("positive", "negative")}
        fields["task"] = Task(**{**task, **names})
        num_edge_types = fields.pop("num_edge_types", None)
        if "edge_columns" not in fields:
            fields["edge_columns"] = edge_columns_of(fields["vocabulary"], num_edge_types)
        for key in ("node_vocabulary", "edge_columns", "target_mean", "target_deviation"):
            fields[key] = None if fields.get(key) is None else tuple(fields[key])
        return cls(**fields)

    def require_same_input(self, other: "Schema", *, what: str, model: str = "the model") -> None:
        """Raise unless a model made for this data can read `other`'s graphs; `what` names the other in the error."""
        for key in ("vocabulary", "node_vocabulary", "node_features", "num_edge_types", "undirected"):
            ours, theirs = getattr(self, key), getattr(other, key)
            if ours != theirs:
                raise InputError(f"{model} and {what} do not fit: {key} is {ours!r} for the model, {theirs!r} there")

    def different_molecules(self, other: "Schema", *, what: str) -> str | None:
        """Return a warning if molecules were standardised for this data and not for `other`, or the other way round."""
        if self.vocabulary != "ogb" or self.standardised_molecules == other.standardised_molecules:
            return None
        ours, theirs = ("standardised", "as given") if self.standardised_molecules else ("as given", "standardised")
        return f"the model was trained on molecules {ours}, and those of {what} are {theirs}: salts and ions differ"

    def require_same_task(self, other: "Schema", *, what: str, model: str = "the model") -> None:
        """Raise unless predictions for this data can be compared with `other`'s labels."""
        ours, theirs = self.task, other.task
        for key in ("level", "kind", "num_outputs"):
            if getattr(ours, key) != getattr(theirs, key):
                raise InputError(
                    f"{model} and {what} do not fit: the task's {key} is {getattr(ours, key)!r} for the model, "
                    f"{getattr(theirs, key)!r} there"
                )


def _check_types(fields: Mapping[str, Any]) -> None:
    """Raise unless the values of a file are of the types and within the limits that a schema has."""
    task = fields["task"]
    texts = {"name": fields["name"], "vocabulary": fields["vocabulary"], "task.metric": task["metric"]}
    wrong = [(key, value) for key, value in texts.items() if not isinstance(value, str)]
    for key in ("targets", "classes", "positive", "negative"):
        names = task[key] if key in ("targets", "classes") else task.get(key, ())
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            wrong.append((f"task.{key}", names))
    flags = {"task.standardise": task.get("standardise", False), "undirected": fields.get("undirected", True)}
    flags["standardised_molecules"] = fields.get("standardised_molecules", False)
    wrong += [(key, value) for key, value in flags.items() if type(value) is not bool]
    for key in ("node_vocabulary", "edge_columns"):
        sizes = fields.get(key)
        if sizes is not None and not (isinstance(sizes, (list, tuple)) and all(map(_is_size, sizes))):
            wrong.append((key, sizes))
    for key in ("node_features", "num_edge_types"):
        if fields.get(key) is not None and not _is_size(fields[key]):
            wrong.append((key, fields[key]))
    for key in ("target_mean", "target_deviation"):
        numbers = fields.get(key)
        if numbers is not None and not (
            isinstance(numbers, (list, tuple))
            and len(numbers) == len(task["targets"])
            and all(type(number) in (int, float) for number in numbers)
        ):
            wrong.append((key, numbers))
    if not wrong and prod(fields.get("edge_columns") or (1,)) > LARGEST_SIZE:
        wrong.append(("edge_columns", fields["edge_columns"]))
    if not wrong and (task["metric"] not in METRICS or task["kind"] not in METRICS[task["metric"]].kinds):
        wrong.append(("task.metric", task["metric"]))
    if wrong:
        key, value = wrong[0]
        raise InputError(f"{key} is {short(value)}, which no schema has")


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value <= LARGEST_SIZE


def known_schema(vocabulary: str, *, name: str, task: Task) -> Schema:
    """Return the schema of a dataset in one of the known vocabularies, a name of `VOCABULARIES`."""
    columns = VOCABULARIES[vocabulary]
    return Schema(
        name=name,
        task=task,
        vocabulary=vocabulary,
        node_vocabulary=columns.node_columns,
        edge_columns=columns.edge_columns,
    )


def unlabelled(schema: Schema) -> Schema:
    """Return the schema of graphs of the same form without labels, to be predicted."""
    return replace(schema, task=Task(level="graph", kind="regression", targets=(), metric="mae"))
