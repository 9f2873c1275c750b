"""Cross-validate a table and show it: `grpe fit --folds`."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from .first_process import say
from .show_experiment import train_and_show
from .training_options import TrainingOptions

if TYPE_CHECKING:
    from grpe_dgl.data.tables.table import Table
    from grpe_dgl.inference.calibration import Calibration
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.workflows.folds import FoldPlan


def show_folds(
    recipe: "Recipe", source: "Table", out: Path, plan: "FoldPlan", options: TrainingOptions, *, final: bool
) -> None:
    """Train the models of every fold, show progress and print what they reach together.

    The arguments are those of `grpe_dgl.workflows.cross_validation.cross_validate`.
    """
    from grpe_dgl.objectives import METRICS
    from grpe_dgl.workflows.cross_validation import PREDICTIONS, cross_validate
    from grpe_dgl.workflows.experiment import DATA
    from grpe_dgl.workflows.summary import table

    folder = out / DATA
    train = functools.partial(cross_validate, recipe, folder, source, out, plan, final=final)
    found = train_and_show(train, recipe, folder, out, options)
    if not found.summary:
        return  # another process prints
    splits = len(found.finished)
    times = f", {plan.repeats} times" if plan.repeats > 1 else ""
    say(f"\nmean and deviation over {splits} splits ({plan.folds} folds{times}, {plan.split}):")
    say(table(found.summary), nl=False)
    undefined = sum(value != value for value in found.summary["rows"][0]["splits"]["test"]["values"])
    if undefined:
        say(f"the metric is undefined in {undefined} of {splits} splits: their rows lack a class")
    held_out = found.summary["held_out"]
    metric = METRICS[held_out["metric"]]
    say(
        f"{held_out['rows']:,} rows, each predicted by models that never saw it: {metric.name} "
        f"{metric.text(held_out['value'])}; {out / PREDICTIONS}"
    )
    for note in found.notes:
        say(note)
    show_calibration(found.calibration, folder)
    say(f"\n{out}: `grpe predict {out} INPUT` takes the mean of all {splits} models")
    if found.final is not None:
        say(f"model of all rows: {found.final}")
    from grpe_dgl.workflows.report import report

    report([out], out / "report.html", dataset=folder)
    say(f"report: {out / 'report.html'}")


def show_calibration(calibration: "Calibration | None", dataset_folder: Path) -> None:
    """Print what was found of intervals or probabilities on rows kept back."""
    from grpe_dgl.data.store.store import Store

    if calibration is None:
        return
    for line in calibration.describe(Store(dataset_folder).schema.task):
        say(line)
