"""The result of a search: the best recipe, the table of trials and the picture, as files in its folder."""

import csv
import dataclasses
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe
from grpe_dgl.workflows.tune.picture import draw_search, importances
from grpe_dgl.workflows.tune.study import finished_trials, load_optuna, trial_folder
from grpe_dgl.workflows.tune.trial import PROBLEM, Trial

if TYPE_CHECKING:
    import optuna

BEST_RECIPE, PICTURE = "best.yaml", "importances.png"


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


def write_best(study: "optuna.Study", recipe: Recipe, out: Path, done: Trial) -> bool:
    """Write ``best.yaml`` if this trial is the best of all, and return whether it is."""
    if done.state != "complete" or study.best_trial.number != done.number:
        return False
    assert recipe.training.metric is not None
    metric = METRICS[recipe.training.metric]
    text = f"trial {done.number} of a search: valid {metric.name} {metric.text(study.best_value)}"
    best = dataclasses.replace(recipe.override(done.values), description=text, search={})
    write_text(out / BEST_RECIPE, best.to_yaml())
    return True


def write_table(study: "optuna.Study", out: Path, metric: str) -> None:
    """Write ``trials.csv``: a row per finished trial."""
    trials = finished_trials(study.get_trials(deepcopy=False))
    keys = list(dict.fromkeys(key for trial in trials for key in trial.params))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["trial", "state", f"valid_{metric}", "epochs", *keys, "folder", "error"])
    for trial in trials:
        value = trial.value if trial.value is not None else next(iter(reversed(trial.intermediate_values.values())), "")
        cells = [trial.params.get(key, "") for key in keys]
        row = [trial.number, trial.state.name.lower(), value, len(trial.intermediate_values), *cells]
        writer.writerow([*row, trial_folder(out, trial).name, trial.user_attrs.get(PROBLEM, "")])
    write_text(out / "trials.csv", stream.getvalue())


def search_result(study: "optuna.Study", recipe: Recipe, out: Path, metric: str) -> Found:
    """Return the best trial of the search, and draw the picture."""
    optuna = load_optuna()
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
