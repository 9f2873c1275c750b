"""The screen output of a run: what is trained, its progress and its results."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.messages import counted, significant

from .progress import terminal_bar
from .terminal import echo

if TYPE_CHECKING:
    from tqdm import tqdm

    from grpe_dgl.data.dataset import Dataset
    from grpe_dgl.families import ModelSettings
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.training.run import Callbacks

BARS = "▁▂▃▄▅▆▇█"
SECONDS_BETWEEN_LINES = 30.0  # where there is no terminal for a bar


def data_line(data: "Dataset") -> str:
    """Return a line with the dataset's name and the sizes of its splits."""
    splits = ", ".join(f"{name} {len(split):,}" for name, split in data.splits.items())
    return f"data: {data.schema.name}, {splits} graphs"


def model_line(settings: "ModelSettings", data: "Dataset") -> str:
    """Return a line with the family and the sizes of a model."""
    import torch

    from grpe_dgl.checkpoint.build import build_model

    with torch.device("meta"):  # only shapes: a large model takes no memory
        built = build_model(settings, data.schema)
    parameters = sum(parameter.numel() for parameter in built.parameters())
    return f"model: {settings.NAME}, {settings.describe()}, {parameters:,} parameters"


def result_lines(results: dict[str, Any]) -> str:
    """Return how long a run took and the metric of its best model on every split."""
    from grpe_dgl.objectives import METRICS

    metric = METRICS[results["metric"]]
    splits = ", ".join(f"{split} {metric.text(value)}" for split, value in results["splits"].items())
    epochs, best = results["epochs"], results["best_epoch"]
    early = ""
    if results.get("minimum_learning_rate_reached"):
        early = "stopped early: the learning rate fell below training.minimum_learning_rate\n"
    elif results.get("stopped_early"):  # without a best epoch, the metric was undefined in every one
        early = f"stopped early: no better epoch for {epochs - (best or 0)}\n"
    selected = "best" if best is None or "valid" in results["splits"] else "last"
    return (
        f"{early}done after {counted(epochs, 'epoch')}, {results['seconds']:,.0f} s; {selected} epoch "
        f"{best or 'unknown'}: {metric.name} {splits}"
    )


def curve(folder: Path, metric: str) -> str:
    """Return the validation metric by epoch as a row of bars, and the path of the plot."""
    import csv

    from grpe_dgl.objectives import METRICS
    from grpe_dgl.training.curves import is_flat

    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[f"valid_{metric}"] for row in csv.DictReader(file)]
    values = [float(cell) for cell in cells if cell and math.isfinite(float(cell))]
    if not values:
        reason = "undefined in every epoch" if any(cells) else "not measured, as there is no split to validate on"
        return f"valid {metric}: {reason}  (the loss is plotted in {folder / 'curves.png'})"
    count = min(len(values), 60)
    shown = [values[i * len(values) // count] for i in range(count)]
    # The first epochs are far off: values outside the middle nine tenths are clipped to them.
    ordered = sorted(shown)
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    # Differences of rounding are no progress: they are drawn as a flat line.
    width = high - low if not is_flat(shown) else 0
    heights = [(min(max(value, low), high) - low) / width if width else 0.0 for value in shown]
    bars = "".join(BARS[round(height * (len(BARS) - 1))] for height in heights)
    text = METRICS[metric].text
    return f"valid {metric} {text(values[0])} {bars} {text(values[-1])}  (plotted in {folder / 'curves.png'})"


@contextlib.contextmanager
def show_run(recipe: "Recipe", folder: Path, *, resume: bool, tensorboard: bool) -> "Iterator[Callbacks]":
    """Show a run: a bar or a line every 30 seconds, a line per epoch and, with `tensorboard`, TensorBoard's files."""
    from grpe_dgl.objectives import METRICS
    from grpe_dgl.training.run import Callbacks

    assert recipe.training.metric is not None
    metric = METRICS[recipe.training.metric]
    with contextlib.ExitStack() as stack:
        board = _tensorboard(folder, stack) if tensorboard else None
        bar: tqdm[Any] | None = None
        begin = time.monotonic()
        plain = _plain_steps()

        def start(epochs: int, update: int, updates: int) -> None:
            nonlocal bar
            if update:
                done = counted(epochs, "epoch")
                echo(f"resuming after update {update:,} of {updates:,}, {done} done")
            elif resume:
                echo(f"no checkpoint in {folder} to resume from: beginning with the first epoch")
            if sys.stderr.isatty():
                title = f"epoch {epochs + 1}"
                bar = stack.enter_context(terminal_bar(title, updates, "updates", done=update, leave=False))

        def step(update: int, updates: int, loss: float | None, rate: float) -> None:
            if bar is None:
                plain(update, updates, loss)
            else:
                bar.set_postfix_str(f"{_loss(loss)}rate {rate:.2e}", refresh=False)
                bar.update(update - bar.n)

        def epoch(row: dict[str, Any], is_best: bool) -> None:
            nonlocal begin, plain
            value = row[f"valid_{metric.name}"]
            measured = "" if value is None else f"  valid {metric.name} {metric.text(value)}{' *' if is_best else ''}"
            loss, seconds = significant(row["train_loss"]), time.monotonic() - begin
            line = f"epoch {row['epoch']:>3}  loss {loss}{measured}  {seconds:.1f} s"
            begin = time.monotonic()
            plain = _plain_steps()  # no lines between those of short epochs
            if bar is None:
                echo(line)
            else:
                bar.write(line, file=sys.stdout)
                if bar.n < bar.total:
                    bar.set_description_str(f"epoch {row['epoch'] + 1}", refresh=False)
            if board is not None:
                for key, number in row.items():
                    if isinstance(number, float):
                        board.add_scalar(key, number, row["updates"])

        yield Callbacks(start=start, step=step, epoch=epoch)


def _plain_steps() -> Callable[[int, int, float | None], None]:
    """Return a callback that shows updates where there is no terminal: a line every 30 seconds of a long epoch."""
    shown_at, shown_update = time.monotonic(), None

    def step(update: int, updates: int, loss: float | None) -> None:
        nonlocal shown_at, shown_update
        now = time.monotonic()
        if shown_update is None:
            shown_at, shown_update = now, update
            return
        if now - shown_at < SECONDS_BETWEEN_LINES:
            return
        rate = (update - shown_update) / (now - shown_at)
        left = f", {(updates - update) / rate:,.0f} s left" if rate else ""
        echo(f"update {update:,} of {updates:,}, {_loss(loss)}{rate:,.1f}/s{left}", err=True)
        shown_at, shown_update = now, update

    return step


def _loss(loss: float | None) -> str:
    """Return the loss with a comma after it; nothing before a GPU's first was read."""
    return "" if loss is None else f"loss {significant(loss)}, "


def _tensorboard(folder: Path, stack: contextlib.ExitStack) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise click.ClickException(
            "--tensorboard needs the package tensorboard; install grpe-dgl[tensorboard]"
        ) from None
    board = SummaryWriter(str(folder / "tensorboard"))
    stack.callback(board.close)
    return board
