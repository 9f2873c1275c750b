"""The recipe: everything that changes a number of a run."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import yaml

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import nearest
from grpe_dgl.objectives import LOSSES_OF_KIND, METRICS_OF_KIND
from grpe_dgl.recipe.fields import read
from grpe_dgl.recipe.limits import check_limits
from grpe_dgl.recipe.overrides import (
    apply_overrides,
    expand_preset,
    family_settings,
    parse_overrides,
    section_overrides,
)
from grpe_dgl.recipe.pretraining import PretrainingRecipe
from grpe_dgl.recipe.search import read_space
from grpe_dgl.recipe.training import TrainingRecipe
from grpe_dgl.schema import Task

VARIANT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # it names a folder of the run


@dataclass(frozen=True, kw_only=True)
class Paper:
    """What the paper reports: one number (`metric` and `value`), or several (`values`)."""

    table: str
    """The table or figure of the paper: the first sentence of its caption."""
    metric: str | None = None
    """As the paper names it, with the split: ``test MAE``."""
    value: str | None = None
    """As printed in the paper; None if the paper prints no number, as in a figure."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Instead of the two, where there are several numbers: metric to value."""
    parameters: str | None = None
    """The number of parameters as the paper prints it: ``510k``."""
    configuration: Literal["published", "ours"] = "published"
    """``ours``: the model's authors published no settings for this number."""
    differs: str | None = None
    """How the model is not the one that the number belongs to; None: it is, as far as is known."""

    def __post_init__(self) -> None:
        if (self.metric is None) == (not self.values) or (self.values and self.value is not None):
            found = "both are given" if self.values else "neither is given"
            raise InputError(
                f"paper.metric with paper.value, and paper.values: {found}; accepted: metric and value for one number, "
                "values for several"
            )

    @property
    def numbers(self) -> dict[str, str]:
        """Every number that the paper prints, by its metric; empty if it prints none."""
        if self.metric is None:
            return dict(self.values)
        return {} if self.value is None else {self.metric: self.value}

    def text(self) -> str:
        """Return the numbers in a line: ``0.094 ± 0.002 (test MAE)``; empty if there is none."""
        return ", ".join(f"{value} ({metric})" for metric, value in self.numbers.items())


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One row of an ablation: keys that differ from the recipe's, by section or by full key."""

    model: Mapping[str, object] = field(default_factory=dict)
    """Merged into the recipe's ``model``, key by key."""
    training: Mapping[str, object] = field(default_factory=dict)
    """Merged into the recipe's ``training``, key by key."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    """Full key to value: ``{"model.max_distance": 3}``."""
    paper: Paper | None = None

    def all_overrides(self) -> dict[str, object]:
        """Return every change by its full key."""
        sections = {**section_overrides("model", self.model), **section_overrides("training", self.training)}
        for key in sections:
            if key in self.overrides:
                raise InputError(f"{key} is given in {key.split('.')[0]} and in overrides; accepted: one of them")
        return {**sections, **self.overrides}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that changes a number of a run; `grpe_dgl.recipe.load_recipe` reads one from a file.

    In a file, ``extends`` may name another recipe, whose keys this one inherits.
    """

    SHORTHANDS: ClassVar = ("extends",)

    description: str = ""
    dataset: str | None = None
    """The dataset's name; None: any that fits, given with ``--dataset``."""
    start_from: str | None = None
    """A shipped model (`grpe_dgl.pretrained`) that training starts from where it fits the data; or the recipe whose
    trained model this one fine-tunes; or in a fine-tuned run the checkpoint. None: from scratch."""
    model: ModelSettings
    training: TrainingRecipe
    pretraining: PretrainingRecipe | None = None
    """The targets of molecules without labels, for ``grpe pretrain``; None: the dataset has labels."""
    paper: Paper | None = None
    variants: Mapping[str, Variant] = field(default_factory=dict)
    search: Mapping[str, object] = field(default_factory=dict)
    """What a search may change, by full key: a list of values, or low and high; empty for the family's default."""

    def __post_init__(self) -> None:
        check_limits(self.model, self.training)
        read_space(self.search)
        for name in self.variants:
            if not VARIANT_NAME.fullmatch(name):
                raise InputError(
                    f"variants has the name {name!r}; accepted: letters, digits, and _ . - after the first"
                )
            self.variant(name)  # refuses a variant that cannot be applied now, not when its run starts

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, source: str = "recipe") -> Self:
        """Check and convert the content of a YAML file, or what `to_dict` returned; `source` names it in errors."""
        if not isinstance(raw, Mapping):
            return read(cls, raw, source=source)
        if "extends" in raw:
            raise InputError(f"{source}: extends is only accepted in a file that load_recipe reads")
        settings = family_settings(raw, source=source)
        raw = expand_preset(raw, source=source)
        if isinstance(raw.get("model"), Mapping):
            raw["model"] = {key: value for key, value in raw["model"].items() if key != "name"}
        return read(cls, raw, source=source, sections={"model": settings})

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, numbers and texts, with every default; `from_dict` gives the recipe back."""
        plain = dataclasses.asdict(self, dict_factory=_plain)
        return {**plain, "model": {"name": self.model.NAME, **plain["model"]}}

    def to_yaml(self) -> str:
        """Return `to_dict` as YAML, which reads back as the same recipe."""
        plain = self.to_dict()
        text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
        if yaml.safe_load(text) != plain:  # PyYAML folds some Unicode line breaks unless they are escaped
            text = yaml.safe_dump(plain, sort_keys=False, width=120)
        return text

    def override(self, overrides: Mapping[str, object] | Iterable[str], *, source: str = "recipe") -> "Recipe":
        """Return the recipe with some keys changed: ``{"model.layers": 4}`` or ``["model.layers=4"]``."""
        changes = parse_overrides(overrides)
        return Recipe.from_dict(apply_overrides(self.to_dict(), changes, source=source), source=source)

    def variant(self, name: str) -> "Recipe":
        """Return the recipe of one variant: its changes applied, its paper number, no variants."""
        if name not in self.variants:
            accepted = list(self.variants)
            raise InputError(
                f"{name!r} is not a variant of the recipe{nearest(name, accepted)}; "
                f"accepted: {', '.join(accepted) or 'none, it has no variants'}"
            )
        chosen = self.variants[name]
        base = dataclasses.replace(self, paper=chosen.paper, variants={})
        source = f"variants.{name}"
        try:
            changes = chosen.all_overrides()
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        return base.override(changes, source=source)

    def fit_to_task(self, task: Task) -> "Recipe":
        """Return the recipe with loss and metric filled in, or raise if they do not fit a dataset's task.

        The default loss is the first of the kind of task; where the metric is rmse, it is mse.
        """
        training = self.training
        metric = training.metric or task.metric
        loss = training.loss or ("mse" if metric == "rmse" else LOSSES_OF_KIND[task.kind][0])
        target = f"{task.kind} of {', '.join(task.targets[:3])}{', ...' if len(task.targets) > 3 else ''}"
        for key, value, accepted in (
            ("training.metric", metric, METRICS_OF_KIND[task.kind]),
            ("training.loss", loss, LOSSES_OF_KIND[task.kind]),
        ):
            if value not in accepted:
                raise InputError(
                    f"{key} is {value!r}, but the dataset's task is {target}; accepted there: {', '.join(accepted)}"
                )
        if training.class_weights is not None and (task.kind == "regression" or loss == "weighted_cross_entropy"):
            what = f"the dataset's task is {target}" if task.kind == "regression" else f"training.loss is {loss}"
            raise InputError(f"training.class_weights is {training.class_weights}, but {what}; accepted there: null")
        return self.override({"training.loss": loss, "training.metric": metric})


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in items}
