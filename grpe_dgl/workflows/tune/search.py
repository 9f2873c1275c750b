"""Search for the best values of a recipe's keys: trials by Optuna, in several processes, resumable."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpe_dgl.data import load
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.comparison import require_same_recipe
from grpe_dgl.training.evaluation import has_validation, require_validation
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.workflows.tune.result import BEST_RECIPE, Found, search_result, write_best, write_table
from grpe_dgl.workflows.tune.space import search_space
from grpe_dgl.workflows.tune.study import JOURNAL, TRIALS, load_optuna, mutex, next_trial, open_study, release_stale
from grpe_dgl.workflows.tune.trial import Trial, train_trial

MOST_PROBLEMS = 10  # trials in a row that cannot be trained


def tune(
    recipe: Recipe,
    dataset_folder: Path,
    out: Path,
    *,
    trials: int,
    resume: bool = False,
    device: str = "cpu",
    stop: StopRequest | None = None,
    start: Any = None,
    after_trial: Callable[[Trial], object] | None = None,
    before_trial: Callable[[int, dict[str, Any], bool], object] | None = None,
) -> Found:
    """Train recipes with other values of some keys until `trials` are finished, in all processes together.

    The folder gets ``recipe.yaml``, ``journal.log`` (Optuna's), the runs of the trials in ``trials/``, ``trials.csv``,
    ``best.yaml`` and ``importances.png``. A trial whose process was killed is found by its lock and continued from its
    last checkpoint, as a new trial with the same values.

    Parameters
    ----------
    recipe
        Without variants; its section ``search`` or the default of its family is the space.
    dataset_folder
        The dataset, whose split ``valid`` is what the search is for.
    out
        The folder: new, or with `resume` one that was begun with the same recipe, also while others work in it.
    trials
        How many finished trials the folder is to have.
    resume
        Whether to continue or to join the search in `out`.
    device
        Where models are trained.
    stop
        When it asks to stop, the trial is saved and `grpe_dgl.training.stop_request.Stopped` is raised; if it is the
        time limit and a trial is complete, the result so far is returned.
    start
        Puts other weights than random ones into new models; see `grpe_dgl.workflows.experiment.run_experiment`.
    after_trial, before_trial
        Report progress; `before_trial` gets the number, the values and whether a killed trial is continued.
    """
    if trials < 1:
        raise InputError(f"trials is {trials}; accepted: 1 or more")
    data = load(dataset_folder, view=recipe.model.view)
    recipe = dataclasses.replace(recipe.fit_to_task(data.task), paper=None)
    metric = recipe.training.metric
    assert metric is not None
    if recipe.variants:
        raise InputError(f"the recipe has the variants {', '.join(recipe.variants)}; accepted: a recipe without")
    if not has_validation(data):
        raise InputError(f"{dataset_folder} has no graphs in the split valid, which a search compares trials by")
    require_validation(data, metric)
    space = search_space(recipe)
    _prepare(recipe, out, resume=resume)
    study = open_study(out, METRICS[metric].higher_is_better, recipe)
    problems = 0
    while True:
        with mutex(out):
            release_stale(study, out)
            taken = next_trial(study, out, trials)
        if taken is None:
            break
        trial, lock = taken
        try:
            done = train_trial(trial, recipe, space, data.store.path, out, metric, device, stop, start, before_trial)
        except Stopped:  # the trial is taken up again by the process that finds its folder without a lock
            if stop is None or stop.signal is not None or not (out / BEST_RECIPE).exists():
                raise
            return dataclasses.replace(search_result(study, recipe, out, metric), stopped=True)
        finally:
            os.close(lock)
        with mutex(out):
            study.tell(trial, done.value if done.state == "complete" else None, state=_state(done.state))
            done = dataclasses.replace(done, is_best=write_best(study, recipe, out, done))
            write_table(study, out, metric)
        problems = problems + 1 if done.state == "failed" else 0
        if after_trial is not None:
            after_trial(done)
        if problems == MOST_PROBLEMS:
            raise InputError(f"{MOST_PROBLEMS} trials in a row could not be trained; the last: {done.problem}")
    return search_result(study, recipe, out, metric)


def _prepare(recipe: Recipe, out: Path, *, resume: bool) -> None:
    """Make the folder of a search, or check that it can be joined with this recipe."""
    saved = out / "recipe.yaml"
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    try:
        (out / TRIALS).mkdir(parents=True, exist_ok=resume or not any(out.glob("*")))
    except FileExistsError:
        raise InputError(f"{out} exists already, and resume is not set", hint="resume_run") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written to: {error.strerror}") from None
    with mutex(out):
        if saved.exists():
            if not resume:
                raise InputError(f"{out} exists already, and resume is not set", hint="resume_run")
            require_same_recipe(recipe, load_recipe(saved), saved)
            if load_recipe(saved).search != recipe.search:
                raise InputError(f"{saved} has another section search; accepted: the one the search was begun with")
        elif (out / "results.json").exists() or (out / "best.ckpt").exists():
            raise InputError(f"{out} is not the folder of a search: it has no {JOURNAL}")
        else:
            write_text(saved, recipe.to_yaml())


def _state(name: str) -> Any:
    states = load_optuna().trial.TrialState
    return {"complete": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[name]
