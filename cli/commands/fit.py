"""``grpe fit``: from a table of molecules to a model."""

import functools
from pathlib import Path
from typing import Any

import click

from ..support.first_process import is_first_process, say
from ..support.make_dataset import make_dataset
from ..support.options import InputFile
from ..support.show_experiment import show_results, train_and_show
from ..support.show_folds import show_calibration, show_folds
from ..support.table_options import TableOptions, show_table_notes, table_options
from ..support.training_options import TrainingOptions, recipe_overrides, run_options


@click.command("fit")
@click.argument("file", type=InputFile())
@table_options
@click.option("--folds", type=click.IntRange(min=2), help="Cross-validate with this many folds by the rule of --split.")
@click.option("--repeats", type=click.IntRange(min=1), help="With --folds: divide anew this many times.  [default: 1]")
@click.option(
    "--final", is_flag=True, help="With --folds: then train on all rows, for the median of their best epochs."
)
@click.option("--from-scratch", is_flag=True, help="Start from random weights, not from a shipped model.")
@click.option("--recipe", default="property", show_default=True, help="A recipe's name or a YAML file.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that read FILE.")
@click.option("--strict", is_flag=True, help="Stop at the first row that cannot be used.")
@run_options
def fit_command(
    file: Path,
    table: TableOptions,
    folds: int | None,
    repeats: int | None,
    final: bool,
    from_scratch: bool,
    recipe: str,
    workers: int,
    strict: bool,
    options: TrainingOptions,
) -> None:
    """Train a model on FILE, a table of molecules, and measure it.

    The processed data, the model and its results are in one folder, which `grpe predict` takes. --seed is also the seed
    of the random split. --fractions 1,0,0 trains on every row and takes the model of the last epoch. With --folds every
    row is predicted by models that never saw it, and all models are one ensemble.
    """
    from grpe_dgl.data.sources.csv import csv_source
    from grpe_dgl.recipe.load import read_recipe
    from grpe_dgl.workflows.experiment import DATA
    from grpe_dgl.workflows.fit import all_rows, fit_split, fold_plan, own_recipe
    from grpe_dgl.workflows.table_data import must_replace, require_new

    if folds is None and (repeats is not None or final):
        raise click.UsageError("--repeats and --final go with --folds")
    name = table.name or file.name.split(".")[0]
    out = options.out or Path("runs") / name
    request = table.request(file, options.seed or 0, listing_folder=out.parent)
    changes = recipe_overrides(options, read_recipe(recipe).get("training"))
    chosen = own_recipe(recipe, request.dataset, settings={**changes, **({"start_from": None} if from_scratch else {})})
    require_new(out, resume=options.resume)
    plan = None if folds is None else fold_plan(request, folds, repeats or 1)
    made_of = request if plan is None else all_rows(request)
    notes: list[str] = []

    def make() -> Any:
        nonlocal notes
        source, notes = csv_source(made_of)
        return source

    folder = out / DATA
    force = must_replace(made_of, folder, resume=options.resume)
    made = make_dataset(folder, made_of.settings(), make, workers=workers, strict=strict, force=force)
    if made is not None:
        show_table_notes(folder, notes, splits=plan is None)
    if plan is not None:
        show_folds(chosen, request.table(), out, plan, options, final=final)
        return
    finished, calibration = train_and_show(
        functools.partial(fit_split, chosen, request.split, out), chosen, folder, out, options
    )
    show_results(finished, chosen, out)
    show_calibration(calibration, folder)
    if is_first_process():
        from grpe_dgl.workflows.report import report

        report([out], out / "report.html", dataset=folder)
        say(f"report: {out / 'report.html'}")
