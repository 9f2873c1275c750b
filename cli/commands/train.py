"""``grpe train``: train the model of a recipe."""

from pathlib import Path

import click

from grpe_dgl.pretrained import shipped_models

from ..support.resolve_dataset import dataset_of_recipe, resolve_dataset
from ..support.show_experiment import show_experiment
from ..support.start_checkpoint import trained_model
from ..support.training_options import (
    TrainingOptions,
    as_written,
    change_recipe,
    choose_variant,
    recipe_overrides,
    training_options,
)


@click.command("train")
@click.argument("recipe", metavar="RECIPE")
@click.option("--dataset", help="The dataset, for a recipe that fits any: a name inside --data or a folder.")
@click.option("--from-scratch", is_flag=True, help="Start from random weights although the recipe starts from a model.")
@training_options
def train_command(recipe: str, dataset: str | None, from_scratch: bool, options: TrainingOptions) -> None:
    """Train the model of RECIPE: a YAML file or a recipe's name.

    `grpe recipes` lists the names.
    """
    from grpe_dgl.recipe import load_recipe
    from grpe_dgl.recipe.load import read_recipe

    written = as_written(recipe, options.variant)
    if written is not None:
        chosen = change_recipe(written, options, source=recipe)
    else:  # a key that the file lacks may be given as an option
        training = read_recipe(recipe).get("training")
        chosen = choose_variant(load_recipe(recipe, recipe_overrides(options, training)), options.variant)
    name = Path(recipe).stem if options.variant is None else f"{Path(recipe).stem}_{options.variant}"
    if from_scratch:
        chosen = chosen.override({"start_from": None})
    if chosen.start_from is not None and chosen.start_from not in shipped_models():
        raise click.UsageError(
            f"the recipe {recipe} starts from a model trained with {chosen.start_from}:\n"
            f"  grpe finetune --from {trained_model(chosen.start_from)} {recipe}"
            + ("" if options.variant is None else f" --variant {options.variant}")
        )
    pretrained = [each for each in chosen.variants if chosen.variant(each).start_from is not None]
    if pretrained:
        others = [each for each in chosen.variants if each not in pretrained]
        raise click.UsageError(
            f"variants of {recipe} that start from a trained model (grpe finetune): {', '.join(pretrained)}; "
            f"train others one by one with --variant: {', '.join(others)}"
        )
    wanted = dataset_of_recipe(recipe, chosen.dataset, dataset)
    if chosen.dataset is None:
        chosen = chosen.override({"dataset": Path(wanted).name})
        name = f"{name}_{Path(wanted).name}"
    folder = resolve_dataset(wanted, options.data, options.raw_dir)
    show_experiment(
        chosen,
        folder,
        options.out or Path("runs") / name,
        options,
        name=Path(recipe).stem,
        written=written,
    )
