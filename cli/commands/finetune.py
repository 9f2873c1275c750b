"""``grpe finetune``: train on from a model that another dataset made."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.options import InputFile
from ..support.resolve_dataset import resolve_dataset
from ..support.run_experiment import run_experiment
from .train import overrides_of, training_options

if TYPE_CHECKING:
    from grpe_dgl.models.model import GraphModel

OWN_DATA = "property"  # the recipe for data that has none of its own


@click.command("finetune")
@click.argument("target", metavar="TARGET")
@click.option("--from", "checkpoint", required=True, type=InputFile(), help="The checkpoint to start from.")
@click.option("--dataset", help="The dataset, for a recipe that fits any: a name inside --data or a folder.")
@click.option("--freeze-encoder", is_flag=True, help="training.freeze_encoder: train the head alone.")
@training_options
def finetune_command(
    target: str,
    checkpoint: Path,
    dataset: str | None,
    freeze_encoder: bool,
    data: Path,
    raw_dir: Path | None,
    out: Path | None,
    resume: bool,
    settings: tuple[str, ...],
    device: str,
    max_time: float | None,
    tensorboard: bool,
    **shortcuts: Any,
) -> None:
    """Train on from a checkpoint, with a new head, for TARGET.

    TARGET is a recipe (a YAML file, or a name that `grpe recipes` lists), a dataset's name, or a folder that
    `grpe preprocess` made. The model is the checkpoint's; head and dropout are the recipe's; --set changes anything.
    """
    from grpe_dgl.checkpoint.build import build_model
    from grpe_dgl.checkpoint.file import load_checkpoint
    from grpe_dgl.checkpoint.transfer import provenance_of, require_transferable, transfer_weights
    from grpe_dgl.data import load
    from grpe_dgl.data.catalogue import short_name
    from grpe_dgl.recipe import load_recipe, shipped_recipes

    source = load_checkpoint(checkpoint)
    if short_name(target) in shipped_recipes():
        target = short_name(target)
    is_recipe = target in shipped_recipes() or Path(target).suffix in (".yaml", ".yml")
    recipe_name = target if is_recipe else OWN_DATA
    recipe = load_recipe(recipe_name)
    if recipe.variants:
        raise click.UsageError(
            f"the recipe {target} has variants; accepted: one without, `grpe recipes copy` copies it"
        )
    wanted = recipe.dataset or dataset if is_recipe else target
    if wanted is None:
        raise click.UsageError(f"the recipe {target} fits any dataset: say which with --dataset NAME")
    if dataset not in (None, wanted):
        raise click.UsageError(f"{target} is for the dataset {wanted}; --dataset is {dataset}")
    if freeze_encoder:
        shortcuts["freeze_encoder"] = True
    recipe = dataclasses.replace(
        recipe,
        dataset=Path(wanted).name if recipe.dataset is None else recipe.dataset,
        start_from=str(checkpoint),
        model=source.recipe.model.for_finetuning(recipe.model),
    ).override(overrides_of(settings, recipe.to_dict()["training"], **shortcuts), source=recipe_name)

    folder = resolve_dataset(wanted, data, raw_dir)
    schema = load(folder).schema
    require_transferable(source, recipe.model, schema, what=str(checkpoint), target=str(folder))

    def start(model: "GraphModel") -> dict[str, Any]:
        return provenance_of(source, checkpoint, transfer_weights(source, model, recipe.model))

    # Once before anything is written, to say what will happen.
    model = build_model(recipe.model, schema)
    carried = transfer_weights(source, model, recipe.model)
    if os.environ.get("RANK", "0") == "0" and not resume:
        click.echo(f"recipe {recipe_name}, data {folder}")
        click.echo(f"carried from {checkpoint} ({source.schema.name}): {carried.numbers:,} weights")
        for note in recipe.model.transfer_warnings(source.recipe.model):
            click.echo(note)
        for title, names in (("new", carried.fresh), ("left behind", carried.left)):
            if names:
                click.echo(f"{title}: {', '.join(names)}")
        if recipe.training.freeze_encoder:
            click.echo("only the head is trained")
    run_experiment(
        recipe,
        folder,
        out or Path("runs") / f"finetune_{Path(wanted).name}",
        resume=resume,
        device=device,
        max_time=max_time,
        tensorboard=tensorboard,
        start=start,
    )
