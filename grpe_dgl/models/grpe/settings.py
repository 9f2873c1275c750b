"""The settings of GRPE; apart from the model so that recipes can be read without loading torch."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import counted, short
from grpe_dgl.relations import MAX_DISTANCE_LIMIT, Relations
from grpe_dgl.schema import Schema
from grpe_dgl.views import DESCRIPTORS, PairView

PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 4, "hidden_size": 64, "ffn_size": 64, "num_heads": 8},
    "small": {"layers": 12, "hidden_size": 80, "ffn_size": 80, "num_heads": 8},
    "standard": {"layers": 12, "hidden_size": 768, "ffn_size": 768, "num_heads": 32},
    "large": {"layers": 18, "hidden_size": 1024, "ffn_size": 1024, "num_heads": 32},
}
"""The paper's four sizes."""


@dataclass(frozen=True, kw_only=True)
class GRPESettings(ModelSettings):
    """The arguments of `grpe_dgl.nn.GRPE` that a dataset does not decide.

    In a file, ``preset`` (tiny, small, standard or large) may stand for the four sizes, which override it one by one.
    """

    NAME: ClassVar = "grpe"
    PRESETS: ClassVar = PRESETS
    SHORTHANDS: ClassVar = ("preset",)

    layers: int
    hidden_size: int
    ffn_size: int
    num_heads: int
    max_distance: int = 5
    dropout: float = 0.1
    attention_dropout: float = 0.1
    input_noise: float = 0.0
    topology_attention: bool = True
    edge_attention: bool = True
    graph_value: bool = True
    share_encodings: bool = True
    key_term: Literal["neighbour", "self"] = "neighbour"
    head_sizes: tuple[int, ...] = ()
    descriptors: Literal["rdkit", "rdkit_morgan"] | None = None
    descriptor_dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "hidden_size", "ffn_size", "num_heads"):
            _require(getattr(self, name) >= 1, f"model.{name}", getattr(self, name), "1 or more")
        _require(
            self.hidden_size % self.num_heads == 0,
            "model.num_heads",
            self.num_heads,
            f"a divisor of model.hidden_size, which is {self.hidden_size}",
        )
        _require(
            1 <= self.max_distance <= MAX_DISTANCE_LIMIT,
            "model.max_distance",
            self.max_distance,
            f"1..{MAX_DISTANCE_LIMIT}",
        )
        for name in ("dropout", "attention_dropout", "descriptor_dropout"):
            _require(0 <= getattr(self, name) < 1, f"model.{name}", getattr(self, name), "0 to below 1")
        _require(self.input_noise >= 0, "model.input_noise", self.input_noise, "0 or more")
        _require(min(self.head_sizes, default=1) >= 1, "model.head_sizes", list(self.head_sizes), "sizes of 1 or more")

    @property
    def view(self) -> PairView:
        """The pair graph with one relation per pair, virtual node included."""
        joined = () if self.descriptors is None else (f"{self.descriptors}:{DESCRIPTORS[self.descriptors]}",)
        return PairView(max_distance=self.max_distance, encodings=joined)

    def title(self) -> str:
        """Return the preset's name, or ``6 layers of 128``."""
        sizes = {key: getattr(self, key) for key in PRESETS["tiny"]}
        presets = [preset for preset, values in PRESETS.items() if values == sizes]
        return presets[0] if presets else f"{self.layers} layers of {self.hidden_size}"

    def describe(self) -> str:
        """Return the model's size and the options that are not the default, in a line."""
        off = [key for key in ("topology_attention", "edge_attention", "graph_value") if not getattr(self, key)]
        return (
            f"{counted(self.layers, 'layer')} of {self.hidden_size}, FFN {self.ffn_size}, "
            f"{counted(self.num_heads, 'head')}, max_distance {self.max_distance}, key_term {self.key_term}"
            + (f", without {', '.join(off)}" if off else "")
            + ("" if self.share_encodings else ", tables per layer")
            + ("" if self.descriptors is None else f", {self.descriptors} descriptors")
        )

    def count_parameters(self, schema: Schema) -> int:
        """Return the number of parameters of the model for data of a schema, without building it."""
        width, ffn = self.hidden_size, self.ffn_size
        if schema.node_vocabulary is not None:
            nodes = sum(schema.node_vocabulary) * width
        else:
            nodes = ((schema.node_features or 0) + 1) * width
        relations = Relations(self.max_distance, schema.num_edge_types)
        rows = (2 * self.topology_attention + self.graph_value) * relations.num_spd
        rows += (2 * self.edge_attention + self.graph_value) * relations.num_edge
        encodings = rows * width * (1 if self.share_encodings else self.layers)
        attention = 4 * (width * width + width)
        feed_forward = 2 * width * ffn + width + ffn
        layer = attention + feed_forward + 2 * 2 * width  # two norms
        joined = 0 if self.descriptors is None or schema.task.level != "graph" else DESCRIPTORS[self.descriptors]
        sizes = [width + joined, *self.head_sizes, schema.task.num_outputs]
        head = sum(a * b + b for a, b in zip(sizes, sizes[1:], strict=False))
        return nodes + width + encodings + self.layers * layer + 2 * width + head  # virtual node, final norm

    def for_finetuning(self, target: ModelSettings) -> Self:
        """Return these settings with the dropout, noise, head and descriptors of a recipe for other data."""
        if not isinstance(target, GRPESettings):
            return self
        changed = ("dropout", "attention_dropout", "input_noise", "head_sizes", "descriptors", "descriptor_dropout")
        return dataclasses.replace(self, **{key: getattr(target, key) for key in changed})

    def transfer_warnings(self, old: ModelSettings) -> list[str]:
        """Return a sentence where the key tables are used with other keys than they were trained with."""
        assert isinstance(old, GRPESettings)
        if self.key_term == old.key_term:
            return []
        terms = f"{old.key_term} there, {self.key_term} here"
        return [f"model.key_term is {terms}: the key tables are transferred, but are used with other keys"]

    def require_transfer_from(self, other: ModelSettings, *, what: str) -> None:
        """Raise unless weights of a model with the settings `other` fit; `what` names that model in the error."""
        assert isinstance(other, GRPESettings)
        for key in PRESETS["tiny"]:
            theirs, ours = getattr(other, key), getattr(self, key)
            if theirs != ours:
                raise InputError(f"model.{key} is {theirs} in {what}, {ours} was asked for; accepted: the same")
        if self.share_encodings and not other.share_encodings:
            raise InputError(
                f"model.share_encodings is false in {what}, true was asked for; accepted: false, as tables of several "
                "layers do not become one"
            )


def _require(fits: bool, key: str, found: object, accepted: str) -> None:
    if not fits:
        raise InputError(f"{key} is {short(found)}; accepted: {accepted}")
