"""Make the runs of a recipe, on the screen: what `grpe train` and `grpe finetune` share."""

import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

from .device import choose_device
from .errors import INTERRUPTED, TERMINATED
from .run_display import curve, data_line, model_line, result_lines, show_run

if TYPE_CHECKING:
    from grpe_dgl.models.model import GraphModel
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.training.distributed import Processes


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


def run_experiment(
    recipe: "Recipe",
    dataset: Path,
    out: Path,
    *,
    resume: bool,
    device: str,
    max_time: float | None,
    tensorboard: bool,
    start: "Callable[[GraphModel], dict[str, Any]] | None" = None,
) -> None:
    """Make every run of the recipe, showing how they go, and print the table of results."""
    import torch

    from grpe_dgl.data import load
    from grpe_dgl.training.distributed import processes
    from grpe_dgl.training.evaluation import ValidationSplitError, require_validation
    from grpe_dgl.training.run import run
    from grpe_dgl.training.stop_request import Stopped, StopRequest
    from grpe_dgl.workflows.experiment import best_run, plan, prepare_folder, summarise, table, write_summary

    opened = load(dataset)
    recipe = recipe.fit_to_task(opened.task)
    planned_runs = plan(recipe, out)
    for metric in {planned.recipe.fit_to_task(opened.task).training.metric for planned in planned_runs}:
        assert metric is not None
        try:
            require_validation(opened, metric)
        except ValidationSplitError as error:
            options = "for a CSV, `grpe preprocess csv --force` with another --split, --fractions or --seed"
            if error.metrics:
                options += f"; for another metric, --set training.metric={error.metrics[-1]}"
            raise InputError(f"{error}. In options: {options}") from None
    stop = StopRequest(max_time)
    finished = []
    with processes(choose_device(device)) as group, stop.listening():
        say = click.echo if group.is_main else _silent
        if group.is_main:
            prepare_folder(recipe, out, resume=resume)
        group.wait()
        say(data_line(opened))
        say(
            f"{group.device}, {counted(torch.get_num_threads(), 'thread')}{_processes(group)}; everything goes to {out}"
        )
        shown = None
        for planned in planned_runs:
            data = load(dataset, view=planned.recipe.model.view)
            if len(planned_runs) > 1:
                say(f"\n{planned.title}: {planned.folder}")
            if planned.recipe.model != shown:
                shown = planned.recipe.model
                say(model_line(shown, data))
            if (planned.folder / "results.json").exists():
                say(f"{planned.folder} is done already")
            try:
                with show_run(planned.recipe, planned.folder, group.is_main, resume, tensorboard) as callbacks:
                    results = run(
                        planned.recipe,
                        data,
                        planned.folder,
                        start=start,
                        processes=group,
                        stop=stop,
                        callbacks=callbacks,
                    )
            except Stopped:
                why = "the time is up" if stop.signal is None else "interrupted"
                again = shlex.join(["grpe", *[word for word in sys.argv[1:] if word != "--resume"], "--resume"])
                say(f"{why}; everything is saved in {planned.folder}. To go on:\n  {again}", err=True)
                sys.exit(EXIT_CODES[stop.signal])
            finished.append((planned, results))
            say(result_lines(results))
            if group.is_main:
                say(curve(planned.folder, results["metric"]))
        if group.is_main:
            summary = summarise(finished, recipe)
            write_summary(summary, out)
            if len(finished) > 1 or recipe.paper is not None:
                say("\n" + table(summary), nl=False)
            if recipe.variants:
                say(f"\n{out}: compared in {out / 'table.md'}; every run's folder has its best.ckpt")
            else:
                say(f"\n{out}: best model in {best_run(finished).folder / 'best.ckpt'}")


def _silent(message: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Say nothing: another process speaks."""


def _processes(group: "Processes") -> str:
    return f", {group.world_size} processes" if group.world_size > 1 else ""
