"""``grpe recipes``: list, show and copy the recipes that come with grpe-dgl."""

from pathlib import Path

import click

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe, load_recipe, recipe_text, shipped_recipes

from ..support.terminal import echo

HEADER = ("RECIPE", "DATASET", "MODEL", "PARAMETERS", "PAPER")


@click.group("recipes", invoke_without_command=True)
@click.pass_context
def recipes_command(context: click.Context) -> None:
    """List the recipes that come with grpe-dgl; show or copy one."""
    if context.invoked_subcommand is None:
        rows = [HEADER, *(_row(name, load_recipe(name)) for name in shipped_recipes())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
        for row in rows:
            cells = [
                cell.rjust(width) if column == 3 else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            echo("  ".join(cells).rstrip())


@recipes_command.command()
@click.argument("name", metavar="RECIPE")
def show(name: str) -> None:
    """Print RECIPE, a shipped recipe's name or a path."""
    echo(recipe_text(name), nl=False)


@recipes_command.command()
@click.argument("name")
@click.argument("dest", required=False, type=click.Path(path_type=Path))
def copy(name: str, dest: Path | None) -> None:
    """Copy the shipped recipe NAME, to change it.

    DEST is a file or a folder; without it, the copy is NAME.yaml in the current folder.
    """
    text = recipe_text(name)
    target = Path(f"{Path(name).stem}.yaml") if dest is None else dest
    if target.is_dir():
        target = target / f"{Path(name).stem}.yaml"
    try:
        with target.open("x", encoding="utf-8") as file:  # "x": an existing file is an error, also in a race
            file.write(text)
    except FileExistsError:
        raise InputError(f"{target} exists already and is not overwritten; give another DEST") from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
    echo(f"copied to {target}")


def _row(name: str, recipe: Recipe) -> tuple[str, ...]:
    if len({recipe.variant(variant).model.NAME for variant in recipe.variants}) > 1:  # a table of several models
        return (name, recipe.dataset or "any", f"{len(recipe.variants)} models", "", f"{len(recipe.variants)} variants")
    parameters = _parameters(recipe)
    return (
        name,
        recipe.dataset or "any",
        recipe.model.title(),
        "" if parameters is None else f"{parameters:,}",
        _paper(recipe),
    )


def _parameters(recipe: Recipe) -> int | None:
    """Return the number of parameters, for molecules with one target where the recipe fits any dataset."""
    from grpe_dgl.data.catalogue import CATALOGUE, MOLECULES, schema_of

    if recipe.dataset is None:
        return recipe.model.count_parameters(MOLECULES)
    return recipe.model.count_parameters(schema_of(recipe.dataset)) if recipe.dataset in CATALOGUE else None


def _paper(recipe: Recipe) -> str:
    if recipe.variants:
        return f"{len(recipe.variants)} variants"
    numbers = {} if recipe.paper is None else recipe.paper.numbers
    return ", ".join(f"{metric} {value}" for metric, value in numbers.items()) or "-"
