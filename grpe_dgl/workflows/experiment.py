"""Train every run of a recipe, its seeds and variants, and compare them with the paper."""

import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.data import load
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.io.lock import exclusive
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.comparison import require_same_recipe
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import require_validation
from grpe_dgl.training.launcher import began, forget, launchers, note
from grpe_dgl.training.run import NO_CALLBACKS, Callbacks, run
from grpe_dgl.training.stop_request import StopRequest
from grpe_dgl.workflows.plan import FinishedRun, PlannedRun, plan
from grpe_dgl.workflows.setting import describe_setting, differences
from grpe_dgl.workflows.summary import summarise, write_summary

DATA = "data"
"""The folder of a dataset that belongs to one run alone; a folder with nothing else is a new one."""
SECONDS_TO_APPEAR = 10.0  # for a new file in a folder that another machine exports


@dataclass(frozen=True)
class ExperimentCallbacks:
    """Callbacks that report the progress of an experiment; each may be left out."""

    start: Callable[[Dataset], object] = lambda data: None
    """Before the first run, when everything is checked and the folder is there: the dataset."""
    run: Callable[[PlannedRun, Dataset], AbstractContextManager[Callbacks]] = lambda planned, data: (
        contextlib.nullcontext(NO_CALLBACKS)
    )
    """Before every run: a context that is entered for the run and gives the callbacks of its updates and epochs."""
    finish: Callable[[FinishedRun], object] = lambda finished: None
    """After every run: the run with its results."""


def run_experiment(
    recipe: Recipe,
    dataset_folder: Path,
    out: Path,
    *,
    resume: bool = False,
    processes: Processes = SINGLE,
    stop: StopRequest | None = None,
    start: Callable[[GraphModel], dict[str, Any]] | None = None,
    written: Recipe | None = None,
    differs: Sequence[str] = (),
    measured: Sequence[str] | None = None,
    name: str | None = None,
    variant: str | None = None,
    callbacks: ExperimentCallbacks | None = None,
) -> list[FinishedRun]:
    """Train every run of a recipe, one after the other, and write the table that compares them.

    The folder gets ``recipe.yaml``, what `grpe_dgl.training.run.run` writes for every run, ``summary.json`` and
    ``table.md``.

    Parameters
    ----------
    recipe
        With any number of variants and seeds.
    dataset_folder
        The processed dataset.
    out
        The experiment's folder: new, empty or, with `resume`, one that was begun with the same recipe.
    resume
        Whether to continue the runs that `out` holds; finished ones are read, not trained again. Processes that
        ``torchrun`` starts again after a failure continue what it began without being asked.
    processes
        The processes that train together; the first one writes.
    stop
        Checked after every update. When it asks to stop, the run is saved and `grpe_dgl.training.stop_request.Stopped`
        is raised.
    start
        Puts other weights than random ones into each new model, and returns where they come from.
    written
        The recipe as its file has it, where `recipe` has changes: runs that differ from it are marked beside the
        number of the paper. Those that quote a number of a shipped recipe are compared with that recipe.
    differs
        What else differs from the setting of the paper's number, such as the model that `start` takes weights from.
    measured
        See `grpe_dgl.training.run.run`.
    name
        The recipe's name, for ``results.json``.
    variant
        The variant that `recipe` is of the recipe `name`, if it is one: it distinguishes the runs of several.
    callbacks
        Report progress.

    Returns
    -------
    list[FinishedRun]
        The runs in the order of `grpe_dgl.workflows.plan.plan`, with their results.
    """
    callbacks = callbacks or ExperimentCallbacks()
    data = load(dataset_folder)
    recipe = recipe.fit_to_task(data.task)
    planned_runs = plan(recipe, out)
    for metric in {planned.recipe.fit_to_task(data.task).training.metric for planned in planned_runs}:
        assert metric is not None
        require_validation(data, metric)
    launched_by = launchers(processes)
    with contextlib.ExitStack() as stack:
        if processes.is_main:
            prepare_folder(recipe, out, resume=resume, launched_by=launched_by, stack=stack)
            for planned in planned_runs:
                prepare_encodings(data.store, planned.recipe.model.view.encodings)
        processes.wait()
        _require_shared(out, processes)
        callbacks.start(data)
        finished = []
        for planned in planned_runs:
            data = load(dataset_folder, view=planned.recipe.model.view)
            own = _without_variants(recipe, planned.variant)
            as_written = None if written is None else _without_variants(written, planned.variant)
            about = {"recipe": name, "variant": planned.variant or variant}
            about |= describe_setting(own, data.manifest, data.task, as_written, differs)
            with callbacks.run(planned, data) as of_run:
                results = run(
                    planned.recipe,
                    data,
                    planned.folder,
                    start=start,
                    processes=processes,
                    stop=stop,
                    callbacks=of_run,
                    measured=measured,
                    about=about,
                )
            marks = differences(own, data.manifest, data.task, as_written)
            finished.append(FinishedRun(planned, results, (*marks, *differs)))
            callbacks.finish(finished[-1])
        if processes.is_main:
            write_summary(summarise(finished, recipe), out)
            forget(out)
    return finished


def _without_variants(recipe: Recipe, variant: str | None) -> Recipe:
    return recipe if variant is None or variant not in recipe.variants else recipe.variant(variant)


def prepare_folder(
    recipe: Recipe, out: Path, *, resume: bool, launched_by: list[str], stack: contextlib.ExitStack
) -> None:
    """Make the folder of an experiment, or check that it can be resumed with this recipe; lock it for `stack`."""
    saved = out / "recipe.yaml"
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        stack.enter_context(exclusive(out, what="is training"))
    except OSError as error:
        raise InputError(f"{out} cannot be written to: {error.strerror}") from None
    if any(not file.name.startswith(".") and file.name != DATA for file in out.iterdir()):
        if not resume and not began(out, launched_by):
            raise InputError(f"{out} exists already, and resume is not set", hint="resume_run")
        if not saved.exists():
            raise InputError(f"{out} is not the folder of a run: it has no recipe.yaml")
        require_same_recipe(recipe, load_recipe(saved), saved)
        note(out, launched_by)
        return
    try:
        note(out, launched_by)
        write_text(saved, recipe.to_yaml())
    except OSError as error:
        raise InputError(f"{out} cannot be written to: {error.strerror}") from None


def _require_shared(out: Path, processes: Processes) -> None:
    """Raise in every process if one does not see the experiment's folder, which the first one made."""
    if processes.world_size == 1:
        return
    file = out / "recipe.yaml"
    end = time.monotonic() + SECONDS_TO_APPEAR
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.1)
    missing = processes.gather(torch.tensor([not file.exists()]))
    ranks = [str(rank) for rank, flag in enumerate(missing) if flag.item()]
    if ranks:
        those = f"{'process' if len(ranks) == 1 else 'processes'} {', '.join(ranks)}"
        raise InputError(
            f"{out} is not the same folder in all processes: {file} of process 0 is missing in {those}; "
            "accepted: a folder that all machines share"
        )
