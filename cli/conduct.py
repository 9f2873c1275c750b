"""Make the runs of a recipe, on the screen: what `grpe train` and `grpe finetune` share."""

import contextlib
import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .errors import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from grpe_dgl.nn import GRPE
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.training.run import Watch


BARS = "▁▂▃▄▅▆▇█"
EXIT_CODES: dict[int | None, int] = {None: 0, signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


class Duration(click.ParamType):
    """A time like 90s, 45m, 2h or 1h30m, as seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        seconds, number = 0.0, ""
        for character in str(value):
            if character in "hms" and number:
                seconds += float(number) * {"h": 3600, "m": 60, "s": 1}[character]
                number = ""
            elif character.isdigit() or character == ".":
                number += character
            else:
                self.fail(f"{value!r}; accepted: a time such as 90s, 45m, 2h or 1h30m", param, ctx)
        if number or seconds <= 0:
            self.fail(f"{value!r}; accepted: a time with its unit, such as 90s, 45m, 2h or 1h30m", param, ctx)
        return seconds


def conduct(
    recipe: "Recipe",
    dataset: Path,
    out: Path,
    *,
    resume: bool,
    device: str,
    max_time: float | None,
    tensorboard: bool,
    start: "Callable[[GRPE], dict[str, Any]] | None" = None,
) -> None:
    """Make every run of the recipe, showing how they go, and print the table of results."""
    from grpe_dgl.data import load
    from grpe_dgl.training.distributed import processes
    from grpe_dgl.training.evaluation import require_validation
    from grpe_dgl.training.experiment import best_run, plan, prepare_folder, summarise, table, write_summary
    from grpe_dgl.training.interruption import Stopped, StopRequest
    from grpe_dgl.training.run import run

    opened = load(dataset)
    recipe = recipe.fit_to_task(opened.task)
    planned_runs = plan(recipe, out)
    for metric in {planned.recipe.training.metric for planned in planned_runs}:
        require_validation(opened, str(metric))
    stop = StopRequest(max_time)
    finished = []
    with processes(choose_device(device)) as group, stop.listening():
        say = click.echo if group.writes else _silent
        if group.writes:
            prepare_folder(recipe, out, resume=resume)
        group.wait()
        for planned in planned_runs:
            data = load(dataset, max_distance=planned.recipe.model.max_distance)
            if len(planned_runs) > 1:
                say(f"\n{planned.title}: {planned.folder}")
            try:
                with _watching(planned.recipe, planned.folder, group.writes, tensorboard) as watch:
                    results = run(
                        planned.recipe, data, planned.folder, start=start, processes=group, stop=stop, watch=watch
                    )
            except Stopped:
                why = "the time is up" if stop.signal is None else "interrupted"
                again = shlex.join(["grpe", *[word for word in sys.argv[1:] if word != "--resume"], "--resume"])
                say(f"{why}; everything is saved in {planned.folder}. To go on:\n  {again}", err=True)
                sys.exit(EXIT_CODES[stop.signal])
            finished.append((planned, results))
            say(_result_line(results))
            if group.writes:
                say(_curve(planned.folder, results["metric"]))
        if group.writes:
            summary = summarise(finished, recipe)
            write_summary(summary, out)
            if len(finished) > 1 or recipe.paper is not None:
                say("\n" + table(summary), nl=False)
            if recipe.variants:
                say(f"\n{out}: compared in {out / 'table.md'}; every run's folder has its best.ckpt")
            else:
                say(f"\n{out}: best model in {best_run(finished).folder / 'best.ckpt'}")


def choose_device(name: str) -> Any:
    """Return the torch device of ``--device``; auto takes CUDA where there is one."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise click.UsageError(f"--device {name}: accepted: auto, cpu, cuda, cuda:1, ...") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise click.ClickException(f"--device {name}: torch finds no CUDA device here; accepted: cpu, auto")
    return device


def _silent(message: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Say nothing: another process speaks."""


def _result_line(results: dict[str, Any]) -> str:
    from grpe_dgl.training.metrics import METRICS

    metric = METRICS[results["metric"]]
    splits = ", ".join(f"{split} {metric.text(value)}" for split, value in results["splits"].items())
    return (
        f"done after {results['epochs']} epochs, {results['seconds']:,.0f} s; best epoch "
        f"{results['best_epoch'] or 'unknown'}: "
        f"{metric.name} {splits}"
    )


def _curve(folder: Path, metric: str) -> str:
    """Return the validation metric by epoch as a row of bars, low to high, and where the picture is."""
    import csv

    from grpe_dgl.training.metrics import METRICS

    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[f"valid_{metric}"] for row in csv.DictReader(file)]
    values = [float(cell) for cell in cells if cell and math.isfinite(float(cell))]
    if not values:
        return f"valid {metric}: not to be measured in any epoch  (the loss is drawn in {folder / 'curves.png'})"
    count = min(len(values), 60)
    shown = [values[i * len(values) // count] for i in range(count)]
    # The first epochs are far off: what is beyond the middle nine tenths stands at the edge.
    ordered = sorted(shown)
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    heights = [(min(max(value, low), high) - low) / (high - low or 1) for value in shown]
    bars = "".join(BARS[round(height * (len(BARS) - 1))] for height in heights)
    text = METRICS[metric].text
    return f"valid {metric} {text(values[0])} {bars} {text(values[-1])}  (drawn in {folder / 'curves.png'})"


@contextlib.contextmanager
def _watching(recipe: "Recipe", folder: Path, speaks: bool, tensorboard: bool) -> "Iterator[Watch]":
    """Show a run: a bar on a terminal, a line per epoch everywhere, TensorBoard's files if asked for."""
    from grpe_dgl.training.metrics import METRICS
    from grpe_dgl.training.run import Watch

    if not speaks:
        yield Watch()
        return
    assert recipe.training.metric is not None
    metric = METRICS[recipe.training.metric]
    with contextlib.ExitStack() as stack:
        board = _tensorboard(folder, stack) if tensorboard else None
        bar = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            bar = stack.enter_context(tqdm(unit=" updates", dynamic_ncols=True, leave=False, file=sys.stderr))
        begin = time.monotonic()

        def step(update: int, updates: int, loss: float, rate: float) -> None:
            if bar is not None:
                bar.total = updates
                bar.n = update
                bar.set_postfix_str(f"loss {loss:.4f}, rate {rate:.2e}", refresh=False)
                bar.update(0)

        def epoch(row: dict[str, Any], is_best: bool) -> None:
            nonlocal begin
            value = row[f"valid_{metric.name}"]
            measured = "" if value is None else f"  valid {metric.name} {metric.text(value)}{' *' if is_best else ''}"
            line = f"epoch {row['epoch']:>3}  loss {row['train_loss']:.4f}{measured}  {time.monotonic() - begin:.1f} s"
            begin = time.monotonic()
            if bar is None:
                click.echo(line)
            else:
                bar.write(line, file=sys.stdout)
            if board is not None:
                for key, number in row.items():
                    if isinstance(number, float):
                        board.add_scalar(key, number, row["updates"])

        yield Watch(step=step, epoch=epoch)


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
