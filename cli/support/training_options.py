"""The options of `grpe train` and `grpe finetune`, and the recipe keys that they change."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.messages import counted

from .duration import Duration
from .first_process import say
from .options import data_option, device_option, options_as, raw_dir_option

if TYPE_CHECKING:
    from grpe_dgl.recipe import Recipe

SHORTCUTS = ("runs", "seed", "epochs", "batch_size", "learning_rate", "precision")  # keys of the recipe's training
WARMUP = "training.warmup_"  # its length, in epochs or updates


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Where and how to train, and what to change in the recipe."""

    data: Path = Path("data")
    raw_dir: Path | None = None
    variant: str | None = None
    out: Path | None
    resume: bool
    runs: int | None = None
    seed: int | None
    epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    precision: str | None
    settings: tuple[str, ...]
    """``--set``: texts like ``model.layers=4``."""
    device: str
    max_time: float | None
    """In seconds."""
    tensorboard: bool = False


_OUT = (
    click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: runs/NAME]"),
    click.option("--resume", is_flag=True, help="Continue the run in --out."),
)
_VARIANT = click.option("--variant", metavar="NAME", help="Train this variant of the recipe alone.")
_RUNS = click.option("--runs", type=int, help="training.runs: how many seeds to train.")
_RECIPE = (
    click.option("--seed", type=int, help="training.seed: the seed of the first run."),
    click.option("--epochs", type=int, help="training.epochs: the length of the schedule."),
    click.option("--batch-size", type=int, help="training.batch_size: of all processes together."),
    click.option("--learning-rate", type=float, help="training.learning_rate: the peak."),
    click.option("--precision", help="training.precision: float32 or bf16."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change any key of the recipe."),
    device_option,
    click.option("--max-time", type=Duration(), help="Save and stop after this time: 90s, 45m, 2h, 1h30m."),
)
_BOARD = click.option("--tensorboard", is_flag=True, help="Also write TensorBoard's files into the run's folder.")
training_options = options_as(TrainingOptions, (data_option, raw_dir_option, *_OUT, _VARIANT, _RUNS, *_RECIPE, _BOARD))
run_options = options_as(TrainingOptions, (*_OUT, _RUNS, *_RECIPE, _BOARD))
"""Those of `grpe fit`, which chooses neither a dataset nor a variant."""
search_options = options_as(TrainingOptions, (data_option, raw_dir_option, *_OUT, *_RECIPE))
"""Those of `grpe tune`, whose trials are runs of one seed."""


def recipe_overrides(options: TrainingOptions, training: Any) -> dict[str, object]:
    """Return the recipe keys that options change: the shortcuts that were given, then ``--set``.

    ``--epochs`` alone also shortens the warm-up of `training`, the recipe's section before any change, and prints so.
    """
    from grpe_dgl.recipe.overrides import parse_overrides, shorten

    values = {name: getattr(options, name) for name in SHORTCUTS}
    given = {f"training.{name}": value for name, value in values.items() if value is not None}
    asked = parse_overrides(options.settings)
    epochs = options.epochs
    if epochs is None or epochs < 1 or "training.epochs" in asked or not isinstance(training, dict):
        return {**given, **asked}
    own_warmup = any(key.startswith(WARMUP) for key in asked)
    changes = {
        key: value
        for key, value in shorten(training, epochs).items()
        if key not in asked and not (own_warmup and key.startswith(WARMUP))
    }
    if changes:
        notes = [_change(key.removeprefix("training."), value, training) for key, value in changes.items()]
        say(f"{'; '.join(reversed(notes))}, as --epochs is {epochs}")
    return {**given, **changes, **asked}


def change_recipe(recipe: "Recipe", options: TrainingOptions, *, source: str) -> "Recipe":
    """Return the recipe with the changes of options, which also apply to what its variants say about training."""
    import dataclasses

    from grpe_dgl.recipe.overrides import merge_overrides

    changed = recipe.override(recipe_overrides(options, recipe.to_dict()["training"]), source=source)
    variants = {}
    for name, variant in changed.variants.items():
        own = variant.all_overrides()
        if any(key.startswith("training.") for key in own):
            training = recipe.variant(name).to_dict()["training"]
            changes = {k: v for k, v in recipe_overrides(options, training).items() if k.startswith("training.")}
            variant = dataclasses.replace(variant, model={}, training={}, overrides=merge_overrides(own, changes))
        variants[name] = variant
    return dataclasses.replace(changed, variants=variants)


def choose_variant(recipe: "Recipe", name: str | None) -> "Recipe":
    """Return the recipe of the variant that ``--variant`` names; the recipe itself without the option."""
    from grpe_dgl.errors import InputError

    if name is None:
        return recipe
    try:
        return recipe.variant(name)
    except InputError as error:
        raise click.UsageError(f"--variant: {error}") from None


def as_written(recipe: str, variant: str | None = None) -> "Recipe | None":
    """Return a recipe without the changes of options; None where it is not complete without them."""
    from grpe_dgl.errors import InputError
    from grpe_dgl.recipe import load_recipe

    try:
        return choose_variant(load_recipe(recipe), variant)
    except InputError:
        return None


def _change(key: str, value: Any, training: dict[str, Any]) -> str:
    """Describe the change of a key that ``--epochs`` makes: ``warm-up: 0 epochs instead of 5``."""
    if key == "stop_after_epochs":
        return f"stop_after_epochs removed (it was {training[key]})"
    unit = key.removeprefix("warmup_").removesuffix("s")
    before = f"{training[key]:,}" if training.get(key) else counted(training["warmup_updates"], "update")
    return f"warm-up: {counted(value, unit)} instead of {before}"
