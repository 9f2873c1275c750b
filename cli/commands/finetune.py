"""``grpe finetune``: continue training a checkpoint on other data."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..support.first_process import say
from ..support.resolve_dataset import resolve_dataset
from ..support.show_experiment import show_experiment
from ..support.start_checkpoint import StartCheckpoint
from ..support.training_options import TrainingOptions, choose_variant, recipe_overrides, training_options

if TYPE_CHECKING:
    from grpe_dgl.checkpoint.transfer import Transferred
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.workflows.finetune import Pretrained

OWN_DATA = "property"  # the recipe for a dataset that has none of its own


@click.command("finetune")
@click.argument("target", metavar="TARGET")
@click.option("--from", "checkpoint", required=True, type=StartCheckpoint(), help="The checkpoint to start from.")
@click.option("--dataset", help="The dataset, for a recipe that fits any: a name inside --data or a folder.")
@click.option(
    "--transfer",
    type=click.Choice(["all", "transformer"]),
    help="training.transfer: all weights but the head's or, for data of another vocabulary, those of the transformer: "
    "also without the embeddings of nodes and edges.  [default: all]",
)
@click.option("--freeze-encoder", is_flag=True, help="training.freeze_encoder: train only the head.")
@training_options
def finetune_command(
    target: str,
    checkpoint: Path,
    dataset: str | None,
    transfer: str | None,
    freeze_encoder: bool,
    options: TrainingOptions,
) -> None:
    """Train a checkpoint further, with a new head, for TARGET.

    TARGET is a recipe (a YAML file, or a name that `grpe recipes` lists), a dataset's name, or a folder that
    `grpe preprocess` made. The model is the checkpoint's; head and dropout are the recipe's; --set changes anything.
    """
    from grpe_dgl.workflows.finetune import Pretrained

    source = Pretrained.load(checkpoint)
    name, recipe, wanted = _resolve(target, dataset, options.variant)
    own: dict[str, object] = {"training.freeze_encoder": True} if freeze_encoder else {}
    own |= {} if transfer is None else {"training.transfer": transfer}
    written = recipe
    changes = recipe_overrides(options, recipe.to_dict()["training"])
    recipe = source.adapt(recipe).override({**own, **changes}, source=name)
    folder = resolve_dataset(wanted, options.data, options.raw_dir)
    transferred = source.preview(recipe, folder)
    if not options.resume:
        say(f"recipe {name}, data {folder}")
        _show_transfer(source, recipe, transferred)
    folder_name = f"finetune_{Path(wanted).name}" + ("" if options.variant is None else f"_{options.variant}")
    out = options.out or Path("runs") / folder_name
    show_experiment(
        recipe,
        folder,
        out,
        options,
        name=Path(name).stem,
        written=written,
        start=source.start(recipe),
        differs=source.differences(written),
    )


def _resolve(target: str, dataset: str | None, variant: str | None) -> "tuple[str, Recipe, str]":
    """Return the name of the recipe for TARGET, the recipe with its dataset's name, and the dataset to look for."""
    from grpe_dgl.data.catalogue import short_name
    from grpe_dgl.recipe import load_recipe, shipped_recipes

    if short_name(target) in shipped_recipes():
        target = short_name(target)
    is_recipe = target in shipped_recipes() or Path(target).suffix in (".yaml", ".yml")
    name = target if is_recipe else OWN_DATA
    recipe = choose_variant(load_recipe(name), variant)
    if recipe.variants:
        raise click.UsageError(
            f"the recipe {target} has variants: choose one with --variant NAME ({', '.join(recipe.variants)})"
        )
    wanted = recipe.dataset or dataset if is_recipe else target
    if wanted is None:
        raise click.UsageError(f"the recipe {target} fits any dataset: choose one with --dataset NAME")
    if dataset not in (None, wanted):
        raise click.UsageError(f"{target} is for the dataset {wanted}; --dataset is {dataset}")
    if recipe.dataset is None:
        recipe = dataclasses.replace(recipe, dataset=Path(wanted).name)
    return name, recipe, wanted


def _show_transfer(source: "Pretrained", recipe: "Recipe", transferred: "Transferred") -> None:
    """Print which weights the new model takes from the checkpoint."""
    saved = source.checkpoint
    say(f"transferred from {source.path} ({saved.schema.name}): {transferred.numbers:,} weights")
    for note in recipe.model.transfer_warnings(saved.recipe.model):
        say(note)
    for title, names in (("new", transferred.fresh), ("not used", transferred.left)):
        if names:
            say(f"{title}: {', '.join(names)}")
    if recipe.training.freeze_encoder:
        say("only the head is trained")
