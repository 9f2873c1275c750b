"""What the settings of the families that pass messages along the graph's own edges have in common."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import counted
from grpe_dgl.schema import Schema
from grpe_dgl.views import GraphView, View


@dataclass(frozen=True, kw_only=True)
class MessagePassingSettings(ModelSettings):
    """Layers of one width.

    In a file, ``preset`` may stand for the values of a published model, which override it one by one.
    """

    SHORTHANDS: ClassVar = ("preset",)
    CHANGEABLE: ClassVar[tuple[str, ...]] = ("dropout",)
    """Keys that shape no tensor; fine-tuning takes them from the recipe for the new data."""

    layers: int
    hidden_size: int
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "hidden_size"):
            require(getattr(self, name) >= 1, f"model.{name}", getattr(self, name), "1 or more")
        require(0 <= self.dropout < 1, "model.dropout", self.dropout, "0 to below 1")

    @property
    def view(self) -> View:
        """The graph itself."""
        return GraphView()

    def title(self) -> str:
        """Return the preset's name, or ``6 layers of 128``."""
        for preset, values in self.PRESETS.items():
            if all(getattr(self, key) == value for key, value in values.items()):
                return preset
        return f"{counted(self.layers, 'layer')} of {self.hidden_size}"

    def describe(self) -> str:
        """Return the model's size and the options that are not the default, in a line."""
        sizes = [f"{counted(self.layers, 'layer')} of {self.hidden_size}"]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("layers", "hidden_size", *self.CHANGEABLE) or value == field.default:
                continue
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            sizes.append(f"{field.name} {text.lower() if isinstance(value, bool) else text}")
        return ", ".join(sizes)


def require(fits: bool, key: str, found: object, accepted: str) -> None:
    """Raise an InputError unless a setting fits."""
    if not fits:
        raise InputError(f"{key} is {found!r}; accepted: {accepted}")


def linears(widths: Sequence[int]) -> int:
    """Return the number of parameters of linear maps with bias from each width to the next."""
    return sum(a * b + b for a, b in zip(widths, widths[1:], strict=False))


def node_input_size(schema: Schema, hidden_size: int) -> int:
    """Return the number of parameters of the embedding of a schema's nodes."""
    if schema.node_vocabulary is not None:
        return sum(schema.node_vocabulary) * hidden_size
    return linears([int(schema.node_features or 0), hidden_size])
