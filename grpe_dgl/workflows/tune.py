"""Search for the best values of a recipe's keys: trials by Optuna, in several processes, resumable."""

import contextlib
import csv
import dataclasses
import fcntl
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from grpe_dgl.data import load
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.io.lock import try_lock
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.comparison import require_same_recipe
from grpe_dgl.recipe.search import Choice, Space
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.evaluation import has_validation, require_validation
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.workflows.search_space import search_space

if TYPE_CHECKING:
    import optuna

JOURNAL, BEST_RECIPE, PICTURE, TRIALS = "journal.log", "best.yaml", "importances.png", "trials"
RESUMES, STALE, PROBLEM = "resumes", "stale", "error"  # attributes of trials
STARTUP_TRIALS = 5
MOST_PROBLEMS = 10  # trials in a row that cannot be trained


@dataclass(frozen=True)
class Trial:
    """One trial, as it is reported."""

    number: int
    values: dict[str, Any]
    """By full key."""
    value: float | None
    """The best validation metric; None if it could not be trained."""
    state: str
    """``complete``, ``pruned`` or ``failed``."""
    is_best: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    best: Trial
    metric: str
    finished: int
    """Over all processes."""
    running: int
    """Trials that other processes are still training."""
    recipe: Path
    """The best recipe, a file."""
    picture: Path | None
    """None where there are too few trials."""
    importances: dict[str, float]
    stopped: bool = False
    """Whether the time limit ended the search before all trials were finished."""


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
    study = _open_study(out, METRICS[metric].higher_is_better, recipe)
    problems = 0
    while True:
        with _mutex(out):
            _release_stale(study, out)
            taken = _next_trial(study, out, trials)
        if taken is None:
            break
        trial, lock = taken
        try:
            done = _train(trial, recipe, space, data.store.path, out, metric, device, stop, start, before_trial)
        except Stopped:  # the trial is taken up again by the process that finds its folder without a lock
            if stop is None or stop.signal is not None or not (out / BEST_RECIPE).exists():
                raise
            return dataclasses.replace(_result(study, recipe, out, metric), stopped=True)
        finally:
            os.close(lock)
        with _mutex(out):
            study.tell(trial, done.value if done.state == "complete" else None, state=_state(done.state))
            done = dataclasses.replace(done, is_best=_write_best(study, recipe, out, done))
            _write_table(study, out, metric)
        problems = problems + 1 if done.state == "failed" else 0
        if after_trial is not None:
            after_trial(done)
        if problems == MOST_PROBLEMS:
            raise InputError(f"{MOST_PROBLEMS} trials in a row could not be trained; the last: {done.problem}")
    return _result(study, recipe, out, metric)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("a search needs the package optuna; install grpe-dgl[tune]") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


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
    with _mutex(out):
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


@contextlib.contextmanager
def _mutex(out: Path) -> Iterator[None]:
    """Keep other processes of the search out of this block; a killed process leaves no lock behind."""
    descriptor = os.open(out / ".search", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_study(out: Path, maximise: bool, recipe: Recipe) -> "optuna.Study":
    optuna = _optuna()
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    class Lock(JournalFileOpenLock):
        """A lock that ends with its process, unlike Optuna's own, which are files."""

        def __init__(self, path: Path) -> None:
            self._path, self._descriptor = path, -1

        def acquire(self) -> bool:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            return True

        def release(self) -> None:
            os.close(self._descriptor)

    journal = out / JOURNAL
    with warnings.catch_warnings(), _mutex(out):
        warnings.simplefilter("ignore")  # Optuna marks some of these as experimental
        _cut_torn_line(journal)
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal), Lock(out / ".journal")))
        seed = recipe.training.seed
        try:
            known = len(storage.get_all_trials(storage.get_all_studies()[0]._study_id)) if journal.stat().st_size else 0
            return optuna.create_study(
                storage=storage,
                study_name="search",
                direction="maximize" if maximise else "minimize",
                load_if_exists=True,
                # A process that joins draws other values than one that began with the same seed.
                sampler=optuna.samplers.TPESampler(
                    seed=seed + known, n_startup_trials=10, multivariate=True, constant_liar=True
                ),
                pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS, n_warmup_steps=2),
            )
        except (ValueError, LookupError, AssertionError) as error:
            raise InputError(f"{journal} is damaged: {error}") from None


def _cut_torn_line(journal: Path) -> None:
    """Remove an incomplete last line, which a power cut can leave."""
    if not journal.exists():
        return
    content = journal.read_bytes()
    if content and not content.endswith(b"\n"):
        write = content[: content.rfind(b"\n") + 1]
        with journal.open("r+b") as file:
            file.truncate(len(write))


def _folder(out: Path, trial: Any) -> Path:
    """Return the folder of a trial: that of the one it continues, if it does."""
    return out / TRIALS / f"{trial.user_attrs.get(RESUMES, trial.number):04d}"


def _release_stale(study: "optuna.Study", out: Path) -> None:
    """Fail trials whose process is gone and ask for the same values again, to be continued."""
    optuna = _optuna()
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        folder = _folder(out, trial)
        folder.mkdir(parents=True, exist_ok=True)
        lock = try_lock(folder)
        if lock is None:
            continue  # another process trains it
        os.close(lock)
        study._storage.set_trial_user_attr(trial._trial_id, STALE, True)
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        attributes = {RESUMES: trial.user_attrs.get(RESUMES, trial.number)}
        if trial.params:
            study.enqueue_trial(trial.params, user_attrs=attributes)


def _next_trial(study: "optuna.Study", out: Path, wanted: int) -> "tuple[optuna.Trial, int] | None":
    """Return a new trial and the lock of its folder; None if enough are finished or being trained."""
    optuna = _optuna()
    known = study.get_trials(deepcopy=False)
    running = [trial for trial in known if trial.state == optuna.trial.TrialState.RUNNING]
    if len(finished_trials(known)) + len(running) >= wanted:
        return None
    trial = study.ask()
    folder = _folder(out, trial)
    folder.mkdir(parents=True, exist_ok=True)
    lock = try_lock(folder)
    if lock is None:
        raise InputError(f"{folder} cannot be locked; a search needs a file system with locks")
    return trial, lock


def finished_trials(trials: Any) -> list[Any]:
    """Return those that were trained to their end, pruned or found to be impossible, not those of killed processes."""
    return [trial for trial in trials if trial.state.is_finished() and not trial.user_attrs.get(STALE)]


def _train(
    trial: "optuna.Trial",
    recipe: Recipe,
    space: Space,
    dataset_folder: Path,
    out: Path,
    metric: str,
    device: str,
    stop: StopRequest | None,
    start: Any,
    before_trial: Callable[[int, dict[str, Any], bool], object] | None,
) -> Trial:
    """Train one trial in its folder and return what it reached."""
    optuna = _optuna()
    values = {key: _suggest(trial, key, entry) for key, entry in space.items()}
    folder = _folder(out, trial)
    files = RunFolder(folder)
    if before_trial is not None:
        before_trial(trial.number, values, files.last.exists())
    reported: list[float] = []

    def report(value: float | None, epoch: int) -> None:
        if value is not None and math.isfinite(value):
            reported.append(value)
            trial.report(value, epoch)

    def after_epoch(row: dict[str, Any], is_best: bool) -> None:
        report(row[f"valid_{metric}"], row["epoch"])
        if trial.should_prune():
            raise optuna.TrialPruned

    state, problem = "complete", None
    try:
        for epoch, value in _known_epochs(files.metrics, metric):
            report(value, epoch)
        chosen = recipe.override(values)
        data = load(dataset_folder, view=chosen.model.view)
        prepare_encodings(data.store, data.view.encodings)
        run(
            chosen,
            data,
            folder,
            start=start,
            processes=Processes(device=torch.device(device)),
            stop=stop,
            callbacks=Callbacks(epoch=after_epoch),
        )
    except optuna.TrialPruned:
        state = "pruned"
    except InputError as error:  # values that do not fit together, or a loss that is not finite
        state, problem = "failed", str(error)
        trial.set_user_attr(PROBLEM, problem)
    if not reported and state == "complete":
        state, problem = "failed", f"{metric} is undefined in every epoch"
    files.last.unlink(missing_ok=True)  # a finished trial is not continued
    best = None
    if reported:
        best = max(reported) if METRICS[metric].higher_is_better else min(reported)
    return Trial(trial.number, values, best, state, problem=problem)


def _known_epochs(file: Path, metric: str) -> list[tuple[int, float | None]]:
    """Return the epochs that a killed trial has completed, with their validation metric."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [(int(row["epoch"]), float(row[f"valid_{metric}"]) if row[f"valid_{metric}"] else None) for row in rows]


def _suggest(trial: "optuna.Trial", key: str, entry: Any) -> Any:
    if isinstance(entry, Choice):
        return trial.suggest_categorical(key, list(entry.values))
    if entry.whole:
        return trial.suggest_int(key, int(entry.low), int(entry.high), step=int(entry.step or 1), log=entry.log)
    value = trial.suggest_float(key, entry.low, entry.high, step=entry.step, log=entry.log)
    return float(f"{value:.6g}")  # 0.15000000000000002 in a recipe is hard to read


def _state(name: str) -> Any:
    states = _optuna().trial.TrialState
    return {"complete": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[name]


def _write_best(study: "optuna.Study", recipe: Recipe, out: Path, done: Trial) -> bool:
    """Write ``best.yaml`` if this trial is the best of all, and return whether it is."""
    if done.state != "complete" or study.best_trial.number != done.number:
        return False
    assert recipe.training.metric is not None
    metric = METRICS[recipe.training.metric]
    text = f"trial {done.number} of a search: valid {metric.name} {metric.text(study.best_value)}"
    best = dataclasses.replace(recipe.override(done.values), description=text, search={})
    write_text(out / BEST_RECIPE, best.to_yaml())
    return True


def _write_table(study: "optuna.Study", out: Path, metric: str) -> None:
    """Write ``trials.csv``: a row per finished trial."""
    import io

    trials = finished_trials(study.get_trials(deepcopy=False))
    keys = list(dict.fromkeys(key for trial in trials for key in trial.params))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["trial", "state", f"valid_{metric}", "epochs", *keys, "folder", "error"])
    for trial in trials:
        value = trial.value if trial.value is not None else next(iter(reversed(trial.intermediate_values.values())), "")
        cells = [trial.params.get(key, "") for key in keys]
        row = [trial.number, trial.state.name.lower(), value, len(trial.intermediate_values), *cells]
        writer.writerow([*row, _folder(out, trial).name, trial.user_attrs.get(PROBLEM, "")])
    write_text(out / "trials.csv", stream.getvalue())


def _result(study: "optuna.Study", recipe: Recipe, out: Path, metric: str) -> Found:
    """Return the best trial of the search, and draw the picture."""
    from grpe_dgl.workflows.tune_picture import draw_search, importances

    optuna = _optuna()
    known = study.get_trials(deepcopy=False)
    complete = [trial for trial in known if trial.state == optuna.trial.TrialState.COMPLETE]
    if not complete:
        raise InputError(f"{out}: none of {len(finished_trials(known))} trials was trained to its end")
    best = study.best_trial
    found = importances(study)
    picture = out / PICTURE
    draw_search(complete, found, METRICS[metric], picture)
    write_text(out / "importances.json", json.dumps(found, indent=2) + "\n")
    return Found(
        best=Trial(best.number, dict(best.params), best.value, "complete", is_best=True),
        metric=metric,
        finished=len(finished_trials(known)),
        running=sum(trial.state == optuna.trial.TrialState.RUNNING for trial in known),
        recipe=out / BEST_RECIPE,
        picture=picture,
        importances=found,
    )
