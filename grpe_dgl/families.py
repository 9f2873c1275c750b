"""The registry of model families: a name, and the import strings of its settings and its module.

Settings are read with a recipe and must not import torch; the module is loaded when a model is built. A new family is a
folder ``models/NAME/`` and an entry here.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest, short
from grpe_dgl.schema import Schema
from grpe_dgl.views import View

DEFAULT = "grpe"


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The model section of a recipe; together with the schema of the data it determines the model.

    A family's settings are a subclass with typed fields; its ``__post_init__`` raises an InputError that names
    the full key of a value that is not accepted (``model.layers``).
    """

    NAME: ClassVar[str]
    """The family's name, ``model.name`` in a recipe."""
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Named groups of values: ``preset: NAME`` in a recipe stands for them, and single keys override them."""
    CHANGEABLE: ClassVar[tuple[str, ...]] = ()
    """The settings that do not change the shape of the weights: fine-tuning takes them from its own recipe."""
    READ_BEFORE: ClassVar[tuple[str, ...]] = ("name",)
    SHORTHANDS: ClassVar[tuple[str, ...]] = ()
    """``("preset",)`` where there are presets."""

    @property
    def view(self) -> View:
        """Which graph the model reads."""
        raise NotImplementedError

    def title(self) -> str:
        """Return the model's size in a few words: a preset's name, or ``6 layers of 128``."""
        for preset, values in self.PRESETS.items():
            if all(getattr(self, key) == value for key, value in values.items()):
                return preset
        return self.describe()

    def describe(self) -> str:
        """Return the model's size and options in a line."""
        return self.NAME

    def count_parameters(self, schema: Schema) -> int | None:
        """Return the number of parameters for data of a schema without building the model; None if not known."""
        return None

    def for_finetuning(self, target: "ModelSettings") -> Self:
        """Return these settings, of a trained model, with what a recipe for other data may change."""
        if not isinstance(target, type(self)):
            return self
        return replace(self, **{key: getattr(target, key) for key in self.CHANGEABLE})

    def transfer_warnings(self, old: "ModelSettings") -> list[str]:
        """Return warnings about weights that are transferred from a model with the settings `old`."""
        return []

    def require_transfer_from(self, other: "ModelSettings", *, what: str) -> None:
        """Raise unless weights of a model with the settings `other` fit; `what` names that model in the error."""
        for field in fields(self):
            theirs, ours = getattr(other, field.name), getattr(self, field.name)
            if field.name not in self.CHANGEABLE and theirs != ours:
                raise InputError(f"model.{field.name} is {theirs} in {what}, {ours} was asked for; accepted: the same")


@dataclass(frozen=True)
class Family:
    """Where a family's two classes are, as ``module:Class``."""

    settings: str
    """A subclass of `ModelSettings`."""
    model: str
    """A subclass of `grpe_dgl.models.model.GraphModel`."""


FAMILIES: dict[str, Family] = {
    "grpe": Family("grpe_dgl.models.grpe.settings:GRPESettings", "grpe_dgl.models.grpe.model:GRPE"),
    "gcn": Family("grpe_dgl.models.gcn.settings:GCNSettings", "grpe_dgl.models.gcn.model:GCN"),
    "gin": Family("grpe_dgl.models.gin.settings:GINSettings", "grpe_dgl.models.gin.model:GIN"),
    "gat": Family("grpe_dgl.models.gat.settings:GATSettings", "grpe_dgl.models.gat.model:GAT"),
    "gatedgcn": Family("grpe_dgl.models.gatedgcn.settings:GatedGCNSettings", "grpe_dgl.models.gatedgcn.model:GatedGCN"),
    "mpnn": Family("grpe_dgl.models.mpnn.settings:MPNNSettings", "grpe_dgl.models.pna.model:PNA"),
    "pna": Family("grpe_dgl.models.pna.settings:PNASettings", "grpe_dgl.models.pna.model:PNA"),
    "ogb_gcn": Family("grpe_dgl.models.ogb.settings:OGBGCNSettings", "grpe_dgl.models.ogb.model:OGBModel"),
    "ogb_gin": Family("grpe_dgl.models.ogb.settings:OGBGINSettings", "grpe_dgl.models.ogb.model:OGBModel"),
    "gine": Family("grpe_dgl.models.gine.settings:GINESettings", "grpe_dgl.models.gine.model:GINE"),
    "dgn": Family("grpe_dgl.models.dgn.settings:DGNSettings", "grpe_dgl.models.dgn.model:DGN"),
    "deepergcn": Family(
        "grpe_dgl.models.deepergcn.settings:DeeperGCNSettings", "grpe_dgl.models.deepergcn.model:DeeperGCN"
    ),
    "phc": Family("grpe_dgl.models.phc.settings:PHCSettings", "grpe_dgl.models.phc.model:PHC"),
    "graphnorm": Family(
        "grpe_dgl.models.graphnorm.settings:GraphNormSettings", "grpe_dgl.models.graphnorm.model:GraphNormGCN"
    ),
    "gt": Family("grpe_dgl.models.gt.settings:GTSettings", "grpe_dgl.models.gt.model:GT"),
    "san": Family("grpe_dgl.models.san.settings:SANSettings", "grpe_dgl.models.san.model:SAN"),
    "egt": Family("grpe_dgl.models.egt.settings:EGTSettings", "grpe_dgl.models.egt.model:EGT"),
    "graphormer": Family(
        "grpe_dgl.models.graphormer.settings:GraphormerSettings", "grpe_dgl.models.graphormer.model:Graphormer"
    ),
}


def find_family(name: object) -> Family:
    """Return the family called `name`; raises an InputError that lists them."""
    if not isinstance(name, str) or name not in FAMILIES:
        close = nearest(name if isinstance(name, str) else "", list(FAMILIES))
        raise InputError(f"model.name is {short(name)}{close}; accepted: {', '.join(FAMILIES)}")
    return FAMILIES[name]


def settings_class(name: object) -> type[ModelSettings]:
    """Return the class of a family's settings, without loading torch."""
    loaded: type[ModelSettings] = _load(find_family(name).settings)
    return loaded


def model_class(name: object) -> Any:
    """Return the class of a family's models, a `grpe_dgl.models.model.GraphModel`."""
    return _load(find_family(name).model)


def _load(address: str) -> Any:
    module, _, attribute = address.partition(":")
    return getattr(importlib.import_module(module), attribute)
