"""The study of a search: Optuna's journal in the search's folder, shared by several processes."""

import contextlib
import fcntl
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpe_dgl.errors import InputError
from grpe_dgl.io.lock import try_lock
from grpe_dgl.recipe import Recipe

if TYPE_CHECKING:
    import optuna

JOURNAL, TRIALS = "journal.log", "trials"
RESUMES, STALE = "resumes", "stale"  # attributes of trials
STARTUP_TRIALS = 5


def load_optuna() -> Any:
    """Return the package optuna, which is an extra, with its messages turned off."""
    try:
        import optuna
    except ImportError:
        raise InputError("a search needs the package optuna; install grpe-dgl[tune]") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


@contextlib.contextmanager
def mutex(out: Path) -> Iterator[None]:
    """Keep other processes of the search out of this block; a killed process leaves no lock behind."""
    descriptor = os.open(out / ".search", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def open_study(out: Path, maximise: bool, recipe: Recipe) -> "optuna.Study":
    """Open the study of a folder, or begin it."""
    optuna = load_optuna()
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
    with warnings.catch_warnings(), mutex(out):
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


def trial_folder(out: Path, trial: Any) -> Path:
    """Return the folder of a trial: that of the one it continues, if it does."""
    return out / TRIALS / f"{trial.user_attrs.get(RESUMES, trial.number):04d}"


def release_stale(study: "optuna.Study", out: Path) -> None:
    """Fail trials whose process is gone and ask for the same values again, to be continued."""
    optuna = load_optuna()
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        folder = trial_folder(out, trial)
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


def next_trial(study: "optuna.Study", out: Path, wanted: int) -> "tuple[optuna.Trial, int] | None":
    """Return a new trial and the lock of its folder; None if enough are finished or being trained."""
    optuna = load_optuna()
    known = study.get_trials(deepcopy=False)
    running = [trial for trial in known if trial.state == optuna.trial.TrialState.RUNNING]
    if len(finished_trials(known)) + len(running) >= wanted:
        return None
    trial = study.ask()
    folder = trial_folder(out, trial)
    folder.mkdir(parents=True, exist_ok=True)
    lock = try_lock(folder)
    if lock is None:
        raise InputError(f"{folder} cannot be locked; a search needs a file system with locks")
    return trial, lock


def finished_trials(trials: Any) -> list[Any]:
    """Return those that were trained to their end, pruned or found to be impossible, not those of killed processes."""
    return [trial for trial in trials if trial.state.is_finished() and not trial.user_attrs.get(STALE)]
