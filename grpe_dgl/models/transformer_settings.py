"""What the settings of the graph transformers GT, SAN, EGT and Graphormer have in common."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import counted
from grpe_dgl.schema import Schema


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(ModelSettings):
    """Layers of multi-head attention; the keys in `CHANGEABLE` shape no tensor and may change in fine-tuning."""

    CHANGEABLE: ClassVar[tuple[str, ...]] = ()
    SHORTHANDS: ClassVar = ("preset",)

    layers: int
    hidden_size: int
    num_heads: int

    def __post_init__(self) -> None:
        for name in ("layers", "hidden_size", "num_heads"):
            require(getattr(self, name) >= 1, f"model.{name}", getattr(self, name), "1 or more")
        require(
            self.hidden_size % self.num_heads == 0,
            "model.num_heads",
            self.num_heads,
            f"a divisor of model.hidden_size, which is {self.hidden_size}",
        )
        for name in self.CHANGEABLE:
            value = getattr(self, name)
            if isinstance(value, float | int) and not isinstance(value, bool):
                require(0 <= value < 1, f"model.{name}", value, "0 to below 1")

    def title(self) -> str:
        """Return the preset's name, or ``6 layers of 128``."""
        for preset, values in self.PRESETS.items():
            if all(getattr(self, key) == value for key, value in values.items()):
                return preset
        return f"{counted(self.layers, 'layer')} of {self.hidden_size}"

    def describe(self) -> str:
        """Return the model's size in a line."""
        return f"{counted(self.layers, 'layer')} of {self.hidden_size}, {counted(self.num_heads, 'head')}"


def require(fits: bool, key: str, found: object, accepted: str) -> None:
    """Raise an InputError unless a setting fits."""
    if not fits:
        raise InputError(f"{key} is {found!r}; accepted: {accepted}")


def linear_size(inputs: int, outputs: int, *, bias: bool = True) -> int:
    """Return the number of parameters of a linear map."""
    return (inputs + bias) * outputs


def halving_head_size(width: int, outputs: int) -> int:
    """Return the number of parameters of `grpe_dgl.models.halving_head.HalvingHead`."""
    half, quarter = width // 2, width // 4
    return linear_size(width, half) + linear_size(half, quarter) + linear_size(quarter, outputs)


def node_input_size(schema: Schema, width: int) -> int:
    """Return the number of parameters of the embedding of a schema's nodes, `grpe_dgl.models.nodes`."""
    if schema.node_vocabulary is not None:
        return sum(schema.node_vocabulary) * width
    return linear_size(schema.node_features or 0, width)
