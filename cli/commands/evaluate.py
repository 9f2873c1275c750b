"""``grpe evaluate``: judge a model on a split."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..support.device import choose_device
from ..support.options import InputFile, data_option
from ..support.progress import progress
from ..support.resolve_dataset import resolve_dataset

if TYPE_CHECKING:
    from grpe_dgl.objectives import Metric
    from grpe_dgl.schema import Task


@click.command("evaluate")
@click.argument("checkpoint", type=InputFile(), metavar="CKPT")
@click.option("--split", default="test", show_default=True, help="train, valid, test, ...")
@click.option("--metric", multiple=True, help="One or more metrics.  [default: the one it was trained for]")
@click.option("--dataset", help="Another dataset that fits: a name inside --data or a folder.")
@data_option
@click.option("--raw-dir", type=click.Path(file_okay=False, path_type=Path), help="As for `grpe train`.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Graphs at a time; changes no number.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ...")
@click.option("--submission", type=click.Path(path_type=Path), help="PCQM4M: write OGB's submission file to a folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def evaluate_command(
    checkpoint: Path,
    split: str,
    metric: tuple[str, ...],
    dataset: str | None,
    data: Path,
    raw_dir: Path | None,
    batch_size: int | None,
    device: str,
    submission: Path | None,
    as_json: bool,
) -> None:
    """Measure the model in CKPT on a split of a dataset.

    The dataset is the one it was trained on, or another one that fits.
    """
    import torch

    from grpe_dgl.checkpoint.file import load_checkpoint
    from grpe_dgl.data import load
    from grpe_dgl.errors import InputError
    from grpe_dgl.objectives import METRICS, METRICS_OF_KIND
    from grpe_dgl.training.distributed import Processes
    from grpe_dgl.training.evaluation import by_target, is_labelled, predict_split
    from grpe_dgl.training.metrics import METRIC_FUNCTIONS
    from grpe_dgl.training.submission import write_submission

    saved = load_checkpoint(checkpoint)
    kind = saved.schema.task.kind
    names = metric or (saved.recipe.training.metric or saved.schema.task.metric,)
    for name in names:
        if name not in METRICS_OF_KIND[kind]:
            raise click.UsageError(f"--metric {name}: accepted for {kind}: {', '.join(METRICS_OF_KIND[kind])}")
    folder = resolve_dataset(dataset or saved.recipe.dataset or saved.schema.name, data, raw_dir)
    opened = load(folder, view=saved.recipe.model.view)
    schema = opened.schema
    saved.schema.require_same_input(schema, what=str(folder))
    saved.schema.require_same_task(schema, what=str(folder))
    _warn_of_other_names(saved.schema.task, schema.task, folder)
    chosen = opened[split]
    labelled = is_labelled(chosen)
    if submission is None and not labelled:
        raise InputError(
            f"the split {split} of {folder} has no labels; accepted: a split that has, or --submission DIR for PCQM4M"
        )
    target = choose_device(device)
    model = saved.model().to(target)
    with progress(f"{schema.name} {split}", len(chosen), "graphs") as done:
        predictions = predict_split(
            model,
            chosen,
            saved.schema,
            batch_size=batch_size or saved.recipe.training.batch_size,
            processes=Processes(device=torch.device(target)),
            precision=saved.recipe.training.precision,
            after_batch=done,
        )
    if submission is not None:
        click.echo(f"written: {write_submission(predictions, schema.name, split, submission)}")
    if not labelled:
        return
    labels = chosen.labels()
    values = {name: METRIC_FUNCTIONS[name](predictions, labels) for name in names}
    per_target = by_target(predictions, labels, saved.schema.task, names)
    if as_json:
        parts = {"per_target": per_target} if per_target else {}
        click.echo(json.dumps({"dataset": schema.name, "split": split, "graphs": len(chosen), **values, **parts}))
        return
    for name, value in values.items():
        click.echo(f"{schema.name} {split} ({len(chosen):,} graphs): {name} {METRICS[name].text(value)}")
    for target, measured in per_target.items():
        texts = [f"{name} {_text(METRICS[name], value)}" for name, value in measured.items()]
        click.echo(f"  {target}: {', '.join(texts)}")


def _text(metric: "Metric", value: float | None) -> str:
    return metric.text(value) if value is not None else f"undefined (it needs {metric.requires})"


def _warn_of_other_names(ours: "Task", theirs: "Task", folder: Path) -> None:
    """Say so if a dataset calls its targets or classes otherwise: the numbers may then compare different things."""
    for what in ("targets", "classes"):
        known, found = getattr(ours, what), getattr(theirs, what)
        if known != found:
            click.echo(
                f"warning: the model predicts the {what} {_some(known)}; {folder} has {_some(found)}: "
                "they are compared in this order",
                err=True,
            )


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")
