"""One model of a comparison: its runs with different seeds, summarised."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted
from grpe_dgl.recipe import Paper
from grpe_dgl.recipe.comparison import IGNORED, changed_keys
from grpe_dgl.workflows.compare.paired_test import PairedTest
from grpe_dgl.workflows.compare.runs import Run

UNRECORDED = "which data the paper's number needs was not checked: an earlier version trained the run"


@dataclass(frozen=True)
class Spread:
    """A metric over the seeds."""

    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean over all seeds; NaN if one of them is."""
        return statistics.fmean(self.by_seed.values())

    @property
    def deviation(self) -> float | None:
        """The standard deviation of a sample, as papers give it; None for one seed."""
        values = list(self.by_seed.values())
        if len(values) < 2:
            return None
        return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan


@dataclass(frozen=True)
class Row:
    """A model in a table."""

    name: str
    runs: tuple[Run, ...]
    """One or more with the same settings and different seeds, ordered by seed."""
    test: PairedTest | None = None
    """Against the best row of the table; None for the best row itself, or if there is none."""

    @property
    def family(self) -> str | None:
        """The family of the model; None if it is not recorded."""
        first = self.runs[0]
        if first.recipe is not None:
            return first.recipe.model.NAME
        name = (first.results.get("model") or {}).get("name")
        return name if isinstance(name, str) else None

    @property
    def parameters(self) -> int | None:
        """How many parameters the model has."""
        return next((run.results["parameters"] for run in self.runs if run.results.get("parameters")), None)

    @property
    def epochs(self) -> tuple[int, ...]:
        """How many epochs each run took."""
        return tuple(run.results["epochs"] for run in self.runs)

    @property
    def splits(self) -> dict[str, Spread]:
        """The metric of every split that a run was measured on."""
        names = dict.fromkeys(split for run in self.runs for split in run.results["splits"])
        return {
            split: Spread({run.seed: run.value(split) for run in self.runs if split in run.results["splits"]})
            for split in names
        }

    @property
    def seconds_per_epoch(self) -> float | None:
        """The mean over all epochs of all runs; None if no run recorded it."""
        timed = [
            (run.results["seconds"], run.results["epochs"])
            for run in self.runs
            if run.results.get("seconds") is not None and run.results["epochs"]
        ]
        return sum(seconds for seconds, _ in timed) / sum(epochs for _, epochs in timed) if timed else None

    @property
    def peak_memory_bytes(self) -> int | None:
        """The largest of the runs; None if no run recorded it."""
        return max((int(m) for run in self.runs if (m := run.results.get("peak_memory_bytes"))), default=None)

    @property
    def machines(self) -> tuple[str, ...]:
        """What each run was computed on, without repetitions: processor or GPU, and threads."""
        return tuple(dict.fromkeys(_machine(run.results.get("hardware") or {}) for run in self.runs))

    @property
    def paper(self) -> Paper | None:
        """The number of the paper for this row; None if there is none."""
        first = self.runs[0]
        recorded = first.results.get("paper")
        if recorded is None:
            found = first.recipe.paper if first.recipe is not None else None
        else:
            fields = {field.name for field in dataclasses.fields(Paper)}
            try:
                found = Paper(**{key: value for key, value in recorded.items() if key in fields})
                found.text()
            except (InputError, TypeError, ValueError, AttributeError):
                return None
        return found if found is not None and found.numbers else None

    @property
    def differs(self) -> list[str]:
        """What differs from the setting of the paper's number; empty if nothing does or there is no number."""
        if self.paper is None:
            return []
        found: list[str] = []
        runs = 0
        for setting in self._settings:
            differs, needed = setting.get("differs"), setting.get("runs")
            if isinstance(differs, (list, tuple)):
                found += [text for text in map(str, differs) if text not in found]
            runs = max(runs, needed) if type(needed) is int else runs
        if len(self.runs) < runs:
            found.append(f"{counted(len(self.runs), 'run')} instead of {runs}")
        return found

    @property
    def is_papers_setting(self) -> bool | None:
        """Whether the paper's number is of the same setting; None if there is no number or it is not known."""
        if self.paper is None or len(self._settings) < len(self.runs):
            return None
        differs = [text for text in self.differs if text != UNRECORDED]
        return False if differs else True if not self.differs else None

    @property
    def _settings(self) -> list[dict[str, Any]]:
        """What is known about the setting of the runs' number, for those that have one."""
        every = (run.results["setting"] if "setting" in run.results else _unrecorded_setting(run) for run in self.runs)
        return [setting for setting in every if setting is not None]

    @property
    def notes(self) -> list[str]:
        """What is missing in its runs' folders, and metrics that are not numbers."""
        found = [f"seed {run.seed}: {note}" for run in self.runs for note in run.notes]
        for split, spread in self.splits.items():
            wrong = [str(seed) for seed, value in spread.by_seed.items() if not math.isfinite(value)]
            if wrong:
                found.append(f"the metric on {split} is not a number for seed{'s' * (len(wrong) > 1)} {_list(wrong)}")
            missing = [str(run.seed) for run in self.runs if run.seed not in spread.by_seed]
            if missing:
                found.append(
                    f"the metric on {split} was not measured for seed{'s' * (len(missing) > 1)} {_list(missing)}"
                )
        return found


def _machine(hardware: Mapping[str, Any]) -> str:
    if not hardware:
        return "not recorded"
    on = hardware.get("gpu") or hardware.get("processor") or "unknown processor"
    processes, threads = hardware.get("processes"), hardware.get("threads")
    together = f", {processes} processes" if processes not in (None, 1) else ""
    return f"{on}, {counted(threads, 'thread') if type(threads) is int else 'unknown threads'}{together}"


def _unrecorded_setting(run: Run) -> dict[str, Any] | None:
    """Return what differs from the paper's setting for a run of a version that did not record it: keys alone."""
    from grpe_dgl.workflows.setting import IGNORED as NOT_COMPARED
    from grpe_dgl.workflows.setting import paper_setting

    setting = None if run.recipe is None else paper_setting(run.recipe)
    if run.recipe is None or setting is None:
        return None
    keys = changed_keys(run.recipe, setting, (*IGNORED, *NOT_COMPARED))
    differs = [f"{key} {ours} instead of {theirs}" for key, (ours, theirs) in keys.items() if theirs is not None]
    return {"differs": [*differs, UNRECORDED], "runs": setting.training.runs}


def _list(texts: Sequence[str]) -> str:
    return ", ".join(texts)
