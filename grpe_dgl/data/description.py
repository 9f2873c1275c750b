"""What a model must know of the data it was trained on."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from grpe_dgl.data.sources.source import Task
from grpe_dgl.data.store.manifest import Manifest, typed
from grpe_dgl.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Description:
    """The part of a dataset's manifest that decides a model's shape and the meaning of its numbers."""

    name: str
    task: Task
    vocabulary: str
    node_vocabulary: tuple[int, ...] | None
    node_features: int | None
    num_edge_types: int
    undirected: bool
    target_mean: tuple[float, ...] | None
    """Regression with `Task.standardise`: predictions are these plus `target_deviation` times the model's output."""
    target_deviation: tuple[float, ...] | None

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Take the description out of a manifest."""
        standardised = manifest.task.standardise
        return cls(
            name=manifest.name,
            task=manifest.task,
            vocabulary=manifest.vocabulary,
            node_vocabulary=manifest.node_vocabulary,
            node_features=manifest.node_features,
            num_edge_types=manifest.num_edge_types,
            undirected=manifest.undirected,
            target_mean=manifest.target_mean if standardised else None,
            target_deviation=manifest.target_deviation if standardised else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, numbers and texts."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Return what `to_dict` was made of."""
        return cls(**typed(plain))

    def require_same_input(self, other: "Description", *, what: str, model: str = "the model") -> None:
        """Raise unless a model made for this data can read `other`'s graphs; `what` names the other in the error."""
        for key in ("vocabulary", "node_vocabulary", "node_features", "num_edge_types", "undirected"):
            ours, theirs = getattr(self, key), getattr(other, key)
            if ours != theirs:
                raise InputError(f"{model} and {what} do not fit: {key} is {ours!r} for the model, {theirs!r} there")

    def require_same_task(self, other: "Description", *, what: str, model: str = "the model") -> None:
        """Raise unless this data's predictions can be judged by `other`'s labels."""
        ours, theirs = self.task, other.task
        for key in ("level", "kind", "num_outputs"):
            if getattr(ours, key) != getattr(theirs, key):
                raise InputError(
                    f"{model} and {what} do not fit: the task's {key} is {getattr(ours, key)!r} for the model, "
                    f"{getattr(theirs, key)!r} there"
                )
