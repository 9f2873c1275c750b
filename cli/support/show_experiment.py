"""Train the runs of a recipe and show them: what `grpe train` and `grpe finetune` share."""

import contextlib
import functools
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from grpe_dgl.messages import counted

from .device import choose_device
from .errors import INTERRUPTED, TERMINATED
from .first_process import is_first_process, say
from .hints import note_with_hint
from .make_encodings import make_encodings
from .run_display import curve, data_line, model_line, result_lines, show_run
from .terminal import echo
from .training_options import TrainingOptions

if TYPE_CHECKING:
    from grpe_dgl.data.dataset import Dataset
    from grpe_dgl.families import ModelSettings
    from grpe_dgl.models.model import GraphModel
    from grpe_dgl.recipe import Recipe
    from grpe_dgl.training.distributed import Processes
    from grpe_dgl.training.run import Callbacks
    from grpe_dgl.workflows.experiment import ExperimentCallbacks
    from grpe_dgl.workflows.plan import FinishedRun, PlannedRun

Result = TypeVar("Result")
MOST_LINES = 5
EXIT_CODES: dict[int | None, int] = {None: 0, signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


def show_experiment(
    recipe: "Recipe",
    dataset_folder: Path,
    out: Path,
    options: TrainingOptions,
    *,
    name: str | None = None,
    written: "Recipe | None" = None,
    start: "Callable[[GraphModel], dict[str, Any]] | None" = None,
    differs: Sequence[str] = (),
    measured: Sequence[str] | None = None,
) -> None:
    """Train every run of the recipe, show progress and print the results.

    The arguments are those of `grpe_dgl.workflows.experiment.run_experiment`. Ctrl-C, SIGTERM and ``--max-time`` end
    the command after the run is saved.
    """
    from grpe_dgl.workflows.experiment import run_experiment

    finished = train_and_show(
        functools.partial(
            run_experiment,
            recipe,
            dataset_folder,
            out,
            start=start,
            written=written,
            differs=differs,
            measured=measured,
            name=name,
            variant=options.variant,
        ),
        recipe,
        dataset_folder,
        out,
        options,
    )
    show_results(finished, recipe, out)
    if is_first_process():
        _calibrate(finished, dataset_folder, out)


def _calibrate(finished: "Sequence[FinishedRun]", dataset_folder: Path, out: Path) -> None:
    """Calibrate the models for `grpe predict --interval`, and print what was found unless there are many targets."""
    from grpe_dgl.data.store.manifest import Manifest
    from grpe_dgl.workflows.calibrate import calibrate_runs

    for folder, calibration in calibrate_runs(finished, dataset_folder, out).items():
        lines = calibration.describe(Manifest.read(dataset_folder).schema.task)
        if folder == out and len(lines) <= MOST_LINES:
            for line in lines:
                say(line)


def train_and_show(
    train: "Callable[..., Result]", recipe: "Recipe", dataset_folder: Path, out: Path, options: TrainingOptions
) -> "Result":
    """Call `train` with callbacks that show progress; Ctrl-C, SIGTERM and ``--max-time`` end the command when saved.

    Parameters
    ----------
    train
        Takes the arguments resume, processes, stop and callbacks of `run_experiment`.
    recipe, dataset_folder, out
        What is trained, on which data and where.
    options
        Of the command.
    """
    from grpe_dgl.training.distributed import processes
    from grpe_dgl.training.stop_request import Stopped, StopRequest
    from grpe_dgl.workflows.plan import plan

    stop = StopRequest(options.max_time)
    with processes(choose_device(options.device)) as group, stop.listening():
        if group.is_main:  # the others wait in `train`
            encodings = {name for run in plan(recipe, out) for name in run.recipe.model.view.encodings}
            make_encodings(dataset_folder, sorted(encodings))
        try:
            return train(
                resume=options.resume,
                processes=group,
                stop=stop,
                callbacks=_screen(out, options, group) if group.is_main else None,
            )
        except Stopped:
            reason = "--max-time is reached" if stop.signal is None else "interrupted"
            command = shlex.join(["grpe", *[word for word in sys.argv[1:] if word != "--resume"], "--resume"])
            say(f"{reason}; everything is saved in {out}. To continue:\n  {command}", err=True)
            sys.exit(EXIT_CODES[stop.signal])


def show_results(finished: "Sequence[FinishedRun]", recipe: "Recipe", out: Path) -> None:
    """Print the table of several runs, and where the models are."""
    from grpe_dgl.workflows.summary import best_run, summarise, table

    if len(finished) > 1 or recipe.paper is not None:
        say("\n" + table(summarise(finished, recipe)), nl=False)
    if recipe.variants:
        say(f"\n{out}: compared in {out / 'table.md'}; every run's folder has its best.ckpt")
    else:
        say(f"\n{out}: best model in {best_run(finished).folder / 'best.ckpt'}")


def _screen(out: Path, options: TrainingOptions, group: "Processes") -> "ExperimentCallbacks":
    """Return the callbacks that show an experiment."""
    import torch

    from grpe_dgl.checkpoint.start import choose_start
    from grpe_dgl.training.evaluation import has_validation
    from grpe_dgl.workflows.experiment import ExperimentCallbacks

    shown: ModelSettings | None = None

    def start(data: "Dataset") -> None:
        echo(data_line(data))
        if not has_validation(data):
            echo("no graphs to validate on: every epoch is trained, and the model of the last one is taken")
        threads = counted(torch.get_num_threads(), "thread")
        together = f", {group.world_size} processes" if group.world_size > 1 else ""
        echo(f"{group.device}, {threads}{together}; everything goes to {out}")

    @contextlib.contextmanager
    def run(planned: "PlannedRun", data: "Dataset") -> "Iterator[Callbacks]":
        nonlocal shown
        if planned.folder != out:
            echo(f"\n{planned.title}: {planned.folder}")
        if planned.recipe.model != shown:
            shown = planned.recipe.model
            echo(model_line(shown, data))
            for note in choose_start(planned.recipe, data.store).notes:
                echo(note_with_hint(note))
        if (planned.folder / "results.json").exists():
            echo(f"{planned.folder} is finished already")
        with show_run(
            planned.recipe, planned.folder, resume=options.resume, tensorboard=options.tensorboard
        ) as callbacks:
            yield callbacks

    def finish(run: "FinishedRun") -> None:
        echo(result_lines(run.results))
        echo(curve(run.planned.folder, run.results["metric"]))

    return ExperimentCallbacks(start=start, run=run, finish=finish)
