"""``grpe evaluate``: measure a model on a split, or one or several on a table."""

import contextlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.messages import counted

from ..support.device import choose_device
from ..support.make_encodings import make_encodings
from ..support.options import data_option, device_option, raw_dir_option
from ..support.predict_inputs import models_and_table
from ..support.progress import progress_so_far
from ..support.resolve_dataset import dataset_of_checkpoint, resolve_dataset
from ..support.terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.objectives import Metric
    from grpe_dgl.schema import Task
    from grpe_dgl.workflows.evaluate import Evaluation


@click.command("evaluate")
@click.argument("arguments", nargs=-1, required=True, metavar="CKPT [CKPT...] [TABLE]")
@click.option("--split", help="train, valid, test, ...  [default: test; of TABLE all rows]")
@click.option("--metric", "metrics", multiple=True, help="Repeat it for more.  [default: the metric of the training]")
@click.option("--dataset", help="Another dataset that fits: a name inside --data or a folder.")
@data_option
@raw_dir_option
@click.option("--batch-size", type=click.IntRange(min=1), help="Graphs at a time; changes no number.")
@device_option
@click.option("--submission", type=click.Path(path_type=Path), help="PCQM4M: write OGB's submission file to a folder.")
@click.option("--allow-overlap", is_flag=True, help="Measure other data even if the model was trained on some of it.")
@click.option("--smiles", help="The column of TABLE with the molecules.  [default: smiles, SMILES, ...]")
@click.option("--sheet", help="Of an Excel workbook.  [default: the first with a column of SMILES]")
@click.option("--decimal", type=click.Choice([".", ","]), help="Decimal separator of TABLE.  [default: .]")
@click.option("--thousands", type=click.Choice([".", ","]), help="Separator of thousands of TABLE.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def evaluate_command(
    arguments: tuple[str, ...],
    split: str | None,
    metrics: tuple[str, ...],
    dataset: str | None,
    data: Path,
    raw_dir: Path | None,
    batch_size: int | None,
    device: str,
    submission: Path | None,
    allow_overlap: bool,
    smiles: str | None,
    sheet: str | None,
    decimal: str | None,
    thousands: str | None,
    as_json: bool,
) -> None:
    """Measure the model in CKPT on a split, or on TABLE.

    The dataset is the one it was trained on, or another one that fits. TABLE is a table of molecules, as `grpe predict`
    reads it, with a column for every target of the model by its name; on a table the mean of several models is
    measured, which the folder of a run, with all its seeds or folds, also stands for.
    """
    models, table = models_and_table(arguments)
    of_dataset = {"--split": split, "--dataset": dataset, "--batch-size": batch_size, "--submission": submission}
    of_table = {"--smiles": smiles, "--sheet": sheet, "--decimal": decimal, "--thousands": thousands}
    for option, value in (of_table if table is None else of_dataset).items():
        if value is not None:
            raise click.UsageError(f"{option} goes with {'TABLE' if table is None else 'a dataset, not with TABLE'}")
    split = split or "test"
    from grpe_dgl.checkpoint.file import load_checkpoint
    from grpe_dgl.data.tables.number_format import NumberFormat
    from grpe_dgl.inference.ensemble import Ensemble
    from grpe_dgl.inference.predictor import load
    from grpe_dgl.objectives import METRICS_OF_KIND
    from grpe_dgl.training.submission import write_submission
    from grpe_dgl.workflows.evaluate import evaluate
    from grpe_dgl.workflows.evaluate_table import evaluate_table

    if table is None and len(models) > 1:
        raise click.UsageError(
            f"{len(models)} models; accepted on a split: one of them, such as {models[0]}, or all of them with TABLE"
        )
    checkpoint = models[0]
    saved = load_checkpoint(checkpoint)
    task = saved.schema.task
    for name in metrics:
        if name not in METRICS_OF_KIND[task.kind]:
            accepted = ", ".join(METRICS_OF_KIND[task.kind])
            raise click.UsageError(f"--metric {name}: accepted for {task.kind}: {accepted}")
    if table is not None:
        chosen = str(choose_device(device))
        with _warnings_shown():
            measured = evaluate_table(
                Ensemble([load(path, device=chosen) for path in models]),
                table,
                smiles=smiles,
                sheet=sheet,
                metrics=metrics,
                numbers=NumberFormat(decimal or ".", thousands),
                bad_labels_file=Path(f"{table.name.split('.')[0]}_bad_labels.csv"),
                allow_overlap=allow_overlap,
                progress=progress_so_far(table.name, "molecules"),
            )
        if len(models) > 1 and not as_json:
            echo(f"mean of {len(models)} models")
        _print(measured, as_json=as_json)
        return
    folder = resolve_dataset(dataset or dataset_of_checkpoint(checkpoint, saved), data, raw_dir)
    make_encodings(folder, saved.recipe.model.view.encodings)
    with _warnings_shown():
        evaluation = evaluate(
            saved,
            folder,
            split,
            metrics=metrics,
            needs_labels=submission is None,
            allow_overlap=allow_overlap,
            batch_size=batch_size,
            device=choose_device(device),
            progress=progress_so_far(f"{folder.name} {split}", "graphs"),
        )
    _warn_of_other_names(task, evaluation.task, folder)
    if submission is not None:
        path = write_submission(evaluation.predictions, evaluation.dataset, split, submission)
        echo(f"written: {path}")
    if evaluation.metrics:
        _print(evaluation, as_json=as_json)


@contextlib.contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print the library's warnings as messages."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        echo(f"warning: {warning.message}", err=True)


def _print(evaluation: "Evaluation", *, as_json: bool) -> None:
    from grpe_dgl.objectives import METRICS

    if as_json:
        content = {"dataset": evaluation.dataset, "split": evaluation.split, "graphs": evaluation.graphs}
        content["labels"] = evaluation.labels
        parts: dict[str, object] = {"per_target": evaluation.per_target} if evaluation.per_target else {}
        if evaluation.thresholds is not None:
            parts["thresholds"] = dict(zip(evaluation.task.targets, evaluation.thresholds, strict=True))
        echo(json.dumps({**content, **evaluation.metrics, **parts}))
        return
    graphs = f" of {counted(evaluation.graphs, 'graph')}" if evaluation.labels != evaluation.graphs else ""
    title = f"{evaluation.dataset} {evaluation.split} ({counted(evaluation.labels, 'label')}{graphs})"
    for name, value in evaluation.metrics.items():
        echo(f"{title}: {name} {METRICS[name].text(value)}")
    used = [name for name in evaluation.metrics if METRICS[name].uses_threshold]
    if used and evaluation.task.kind == "binary":
        chosen = evaluation.thresholds
        where = "0.5" if chosen is None else f"{', '.join(f'{x:.4g}' for x in chosen)} (chosen on valid)"
        echo(f"  {', '.join(used)}: yes from the probability {where}")
    for target, values in evaluation.per_target.items():
        texts = [f"{name} {_text(METRICS[name], value)}" for name, value in values.items()]
        echo(f"  {target}: {', '.join(texts)}")


def _text(metric: "Metric", value: float | None) -> str:
    return metric.text(value) if value is not None else f"undefined (it needs {metric.requires})"


def _warn_of_other_names(model: "Task", data: "Task", folder: Path) -> None:
    """Warn if the dataset has other names for its targets or classes: the numbers may compare different things."""
    for what in ("targets", "classes", "positive"):
        known, found = getattr(model, what), getattr(data, what)
        if known != found:
            noun = "positive classes" if what == "positive" else what
            echo(
                f"warning: the model predicts the {noun} {_some(known)}; {folder} has {_some(found)}: "
                "they are compared in this order",
                err=True,
            )


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")
