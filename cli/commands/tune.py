"""``grpe tune``: search for better values of a recipe's keys."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.messages import counted
from grpe_dgl.pretrained import shipped_models

from ..support.device import choose_device
from ..support.make_encodings import make_encodings
from ..support.resolve_dataset import dataset_of_recipe, resolve_dataset
from ..support.show_experiment import EXIT_CODES
from ..support.terminal import echo
from ..support.training_options import TrainingOptions, recipe_overrides, search_options

if TYPE_CHECKING:
    from grpe_dgl.workflows.tune import Trial


@click.command("tune")
@click.argument("recipe", metavar="RECIPE")
@click.option("--from-scratch", is_flag=True, help="Start from random weights, not from a shipped model.")
@click.option("--dataset", help="The dataset, for a recipe that fits any: a name inside --data or a folder.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Finished trials that the folder is to have, of all processes together.",
)
@search_options
def tune_command(recipe: str, from_scratch: bool, dataset: str | None, trials: int, options: TrainingOptions) -> None:
    """Search for the best values of the keys of RECIPE.

    The recipe's section `search` has the keys and values; without one, those of its model family are taken, around the
    recipe's own. Bad trials are stopped early. The best recipe is best.yaml in --out, which `grpe train` takes. Start
    the same command with --resume after a stop, or beside the first one for a second process.
    """
    from grpe_dgl.objectives import METRICS
    from grpe_dgl.recipe import load_recipe
    from grpe_dgl.recipe.load import read_recipe
    from grpe_dgl.training.stop_request import Stopped, StopRequest
    from grpe_dgl.workflows.tune import tune
    from grpe_dgl.workflows.tune.space import search_space

    chosen = load_recipe(recipe, recipe_overrides(options, read_recipe(recipe).get("training")))
    chosen = chosen.override({"start_from": None}) if from_scratch else chosen
    if chosen.start_from is not None and chosen.start_from not in shipped_models():
        raise click.UsageError(
            f"the recipe {recipe} starts from a model of {chosen.start_from}; --from-scratch does not"
        )
    wanted = dataset_of_recipe(recipe, chosen.dataset, dataset)
    if chosen.dataset is None:
        chosen = chosen.override({"dataset": Path(wanted).name})
    out = options.out or Path("runs") / f"tune_{Path(recipe).stem}_{Path(wanted).name}"
    folder = resolve_dataset(wanted, options.data, options.raw_dir)
    make_encodings(folder, sorted(chosen.model.view.encodings))
    space = search_space(chosen)
    echo(f"searches {', '.join(space)}; everything goes to {out}")
    begin = time.monotonic()

    def before(number: int, values: dict[str, Any], resumed: bool) -> None:
        nonlocal begin
        begin = time.monotonic()
        shown = ", ".join(f"{key.split('.')[1]} {_text(value)}" for key, value in values.items())
        echo(f"trial {number}{' (continues one that was killed)' if resumed else ''}: {shown}")

    def after(trial: "Trial") -> None:
        seconds = f"{time.monotonic() - begin:.1f} s"
        if trial.state == "failed":
            echo(f"trial {trial.number} failed: {trial.problem}")
            return
        value = "" if trial.value is None else f"valid {metric.name} {metric.text(trial.value)}"
        echo(f"trial {trial.number} {trial.state}: {value}{' *' if trial.is_best else ''}  {seconds}")

    from grpe_dgl.data.store.store import Store

    metric = METRICS[str(chosen.fit_to_task(Store(folder).schema.task).training.metric)]
    stop = StopRequest(options.max_time)
    with stop.listening():
        try:
            found = tune(
                chosen,
                folder,
                out,
                trials=trials,
                resume=options.resume,
                device=str(choose_device(options.device)),
                stop=stop,
                before_trial=before,
                after_trial=after,
            )
        except Stopped:
            _show_how_to_continue("--max-time is reached" if stop.signal is None else "interrupted", out)
            sys.exit(EXIT_CODES[stop.signal])
    best = found.best
    assert best.value is not None
    echo(f"\n{counted(found.finished, 'trial')} finished; best: trial {best.number}, valid {metric.name} "
         f"{metric.text(best.value)}")  # fmt: skip
    if found.running and not found.stopped:
        echo(f"{counted(found.running, 'trial')} more in other processes: the last of them to end has the final result")
    for key, value in best.values.items():
        share = f"  (explains {100 * found.importances[key]:.0f} %)" if key in found.importances else ""
        echo(f"  {key} {_text(value)}{share}")
    echo(f"{found.recipe}: the best recipe; what mattered is drawn in {found.picture}")
    echo(f"  grpe train {shlex.quote(str(found.recipe))} --data {shlex.quote(str(folder.parent))}")
    if found.stopped:
        _show_how_to_continue("--max-time is reached", out)


def _show_how_to_continue(reason: str, out: Path) -> None:
    command = shlex.join(["grpe", *[word for word in sys.argv[1:] if word != "--resume"], "--resume"])
    echo(f"{reason}; everything is saved in {out}. To continue:\n  {command}", err=True)


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
