"""``grpe train``: make the runs of a recipe."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from grpe_dgl.messages import counted

from ..support.options import data_option
from ..support.resolve_dataset import resolve_dataset
from ..support.run_experiment import Duration, run_experiment

Command = TypeVar("Command", bound=Callable[..., Any])
WARMUP = "training.warmup_"  # its length, in epochs or updates


def training_options(command: Command) -> Command:
    """Add the options that every command that trains has."""
    for option in (
        click.option("--tensorboard", is_flag=True, help="Also write TensorBoard's files into the run's folder."),
        click.option("--max-time", type=Duration(), help="Save and stop after this long: 90s, 45m, 2h, 1h30m."),
        click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ..."),
        click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change any key of the recipe."),
        click.option("--precision", help="training.precision: float32 or bf16."),
        click.option("--learning-rate", type=float, help="training.learning_rate, the peak."),
        click.option("--batch-size", type=int, help="training.batch_size, of all processes together."),
        click.option("--epochs", type=int, help="training.epochs, the length of the schedule."),
        click.option("--seed", type=int, help="training.seed, the first run's."),
        click.option("--runs", type=int, help="training.runs: how many seeds to train."),
        click.option("--resume", is_flag=True, help="Go on with what is in --out."),
        click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: runs/NAME]"),
        click.option(
            "--raw-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where raw files are, if the dataset is not processed yet.  [default: DATA/raw]",
        ),
        data_option,
    ):
        command = option(command)
    return command


def overrides_of(settings: tuple[str, ...], training: Any, **shortcuts: Any) -> dict[str, object]:
    """Return the recipe keys that options change: those that were given, then ``--set``.

    ``--epochs`` alone also shortens the warm-up of `training`, the recipe's section before any change, and says so.
    """
    from grpe_dgl.recipe.overrides import parse_overrides, shorten

    given = {f"training.{name}": value for name, value in shortcuts.items() if value is not None}
    asked = parse_overrides(settings)
    epochs = shortcuts.get("epochs")
    if epochs is None or epochs < 1 or "training.epochs" in asked or not isinstance(training, dict):
        return {**given, **asked}
    own_warmup = any(key.startswith(WARMUP) for key in asked)
    changes = {
        key: value
        for key, value in shorten(training, epochs).items()
        if key not in asked and not (own_warmup and key.startswith(WARMUP))
    }
    if changes and os.environ.get("RANK", "0") == "0":
        said = [_change(key.removeprefix("training."), value, training) for key, value in changes.items()]
        click.echo(f"{'; '.join(reversed(said))}, as --epochs is {epochs}")
    return {**given, **changes, **asked}


def _change(key: str, value: Any, training: dict[str, Any]) -> str:
    """Say what becomes of a key that ``--epochs`` changes: ``warm-up: 0 epochs instead of 5``."""
    if key == "stop_after_epochs":
        return f"no end after {counted(training[key], 'epoch')}"
    unit = key.removeprefix("warmup_").removesuffix("s")
    before = f"{training[key]:,}" if training.get(key) else counted(training["warmup_updates"], "update")
    return f"warm-up: {counted(value, unit)} instead of {before}"


@click.command("train")
@click.argument("recipe", metavar="RECIPE")
@click.option("--dataset", help="The dataset, for a recipe that fits any: a name inside --data or a folder.")
@training_options
def train_command(
    recipe: str,
    dataset: str | None,
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
    """Train the model of RECIPE: a YAML file or a recipe's name.

    `grpe recipes` lists the names.
    """
    from grpe_dgl.recipe import load_recipe
    from grpe_dgl.recipe.load import read_recipe

    # Not checked yet: a key that the file lacks may be given as an option.
    training = read_recipe(recipe).get("training")
    chosen = load_recipe(recipe, overrides_of(settings, training, **shortcuts))
    name = Path(recipe).stem
    if chosen.start_from is not None:
        raise click.UsageError(
            f"the recipe {recipe} starts from a model that {chosen.start_from} trained:\n"
            f"  grpe finetune --from {chosen.start_from.removesuffix('.ckpt')}.ckpt {recipe}"
        )
    if chosen.dataset is None and dataset is None:
        raise click.UsageError(f"the recipe {recipe} fits any dataset: say which with --dataset NAME")
    if chosen.dataset is not None and dataset not in (None, chosen.dataset):
        raise click.UsageError(
            f"the recipe {recipe} is for the dataset {chosen.dataset}; --set dataset={dataset} changes that"
        )
    wanted = str(chosen.dataset or dataset)
    if chosen.dataset is None:
        chosen = chosen.override({"dataset": Path(wanted).name})
        name = f"{name}_{Path(wanted).name}"
    run_experiment(
        chosen,
        resolve_dataset(wanted, data, raw_dir),
        out or Path("runs") / name,
        resume=resume,
        device=device,
        max_time=max_time,
        tensorboard=tensorboard,
    )
