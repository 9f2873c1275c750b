"""``grpe fit``: from a table of molecules to a model."""

from pathlib import Path
from typing import Any

import click

from ..support.make_dataset import make_dataset
from ..support.options import InputFile
from ..support.show_experiment import show_experiment
from ..support.table_options import TableOptions, show_table_notes, table_options
from ..support.training_options import TrainingOptions, recipe_overrides, run_options


@click.command("fit")
@click.argument("file", type=InputFile())
@table_options
@click.option("--recipe", default="property", show_default=True, help="A recipe's name or a YAML file.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that read FILE.")
@click.option("--strict", is_flag=True, help="Stop at the first row that cannot be used.")
@run_options
def fit_command(
    file: Path, table: TableOptions, recipe: str, workers: int, strict: bool, options: TrainingOptions
) -> None:
    """Train a model on FILE, a table of molecules, and measure it.

    The processed data, the model and its results are in one folder, which `grpe predict` takes. --seed is also the seed
    of the random split. --fractions 1,0,0 trains on every row and takes the model of the last epoch.
    """
    from grpe_dgl.data.sources.csv import csv_source
    from grpe_dgl.recipe.load import read_recipe
    from grpe_dgl.workflows.experiment import DATA
    from grpe_dgl.workflows.fit import own_recipe, require_new

    request = table.request(file, options.seed or 0)
    changes = recipe_overrides(options, read_recipe(recipe).get("training"))
    chosen = own_recipe(recipe, request.dataset, settings=changes)
    out = options.out or Path("runs") / request.dataset
    require_new(out, resume=options.resume)
    notes: list[str] = []

    def make() -> Any:
        nonlocal notes
        source, notes = csv_source(request)
        return source

    folder = out / DATA
    made = make_dataset(folder, request.settings(), make, workers=workers, strict=strict, force=False)
    if made is not None:
        show_table_notes(folder, notes)
    show_experiment(chosen, folder, out, options)
