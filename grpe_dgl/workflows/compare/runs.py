"""The runs in folders: which there are, and what their files record."""

import csv
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.comparison import IGNORED, changed_keys
from grpe_dgl.training.run_folder import RunFolder

DEEPEST = 8  # levels of folders below a given one that are searched
_SAME_MODEL = (*IGNORED, "dataset", "training.seed")  # keys in which the runs of one model may differ


@dataclass(frozen=True)
class Excluded:
    """A folder that cannot be compared."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    root: Path
    """The folder of its experiment: itself, or the one above that has the runs of several seeds and variants."""
    results: dict[str, Any]
    """The content of ``results.json``, checked by `read_run`."""
    recipe: Recipe | None
    """None if ``recipe.yaml`` is missing or cannot be read."""
    notes: tuple[str, ...] = ()
    """What of its files is missing."""

    @property
    def metric(self) -> str:
        """The name of the metric that selected its best epoch."""
        return str(self.results["metric"])

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.results["seed"])

    @property
    def name(self) -> str:
        """The recipe and its variant, ``zinc_components/edge``; the experiment's folder if they are not recorded."""
        recipe, variant = self.results.get("recipe"), self.results.get("variant")
        if not isinstance(recipe, str) or not recipe:
            folders = self.folder.absolute().relative_to(self.root.parent).parts
            return "/".join(part for part in folders if not part.startswith("seed-")) or self.folder.name
        return f"{recipe}/{variant}" if isinstance(variant, str) and variant else recipe

    def same_model(self, other: "Run") -> bool:
        """Whether another run is of the same model and training: all settings but the seed are equal.

        Where the settings of one are not known, it is the same if it has the same name in the same experiment.
        """
        if self.recipe is None or other.recipe is None:
            return self.recipe is other.recipe and (self.root, self.name) == (other.root, other.name)
        return not changed_keys(self.recipe, other.recipe, _SAME_MODEL)

    def value(self, split: str) -> float:
        """Return the metric on a split; NaN where there is none."""
        value = self.results["splits"].get(split)
        return math.nan if value is None else float(value)


def find_runs(path: Path) -> Iterator[Path | Excluded]:
    """Yield the run folders in a folder, the folder itself included, and what looks like a run but is not complete."""
    if not path.is_dir():
        yield Excluded(path, "it is not a folder" if path.exists() else "there is no such folder")
        return
    found = list(_search(path, 0, set()))
    yield from found or [Excluded(path, "it holds no run: no results.json in it or in the folders inside")]


def _search(folder: Path, depth: int, visited: set[Path]) -> Iterator[Path | Excluded]:
    files = RunFolder(folder)
    if files.results.is_file():
        yield folder
        return
    if files.metrics.exists() or files.last.exists():
        yield Excluded(folder, f"it is not finished: {_progress(files)} and no results.json")
        return
    visited.add(folder.resolve())
    try:
        inside = sorted(Path(entry.path) for entry in os.scandir(folder) if entry.is_dir())
    except OSError as error:
        yield Excluded(folder, f"it cannot be read: {error.strerror}")
        return
    found: list[Path | Excluded] = []
    if depth < DEEPEST:
        for child in inside:
            if not child.name.startswith(".") and child.resolve() not in visited:
                found += _search(child, depth + 1, visited)
    if not found and files.recipe.exists():
        yield Excluded(folder, "it is not finished: it has a recipe, but no epoch was completed")
    yield from found


def _progress(files: RunFolder) -> str:
    try:
        with files.metrics.open(newline="", encoding="utf-8") as file:
            epochs = sum(1 for _ in csv.reader(file)) - 1
    except (OSError, ValueError, csv.Error):
        return "it has checkpoints"
    return f"it has {max(epochs, 0)} completed epoch{'s' * (epochs != 1)}"


def experiment_of(folder: Path) -> Path:
    """Return the folder of the experiment that a run in ``[VARIANT/]seed-S/`` belongs to; else the run's own."""
    above = folder.parent
    if not folder.name.startswith("seed-") or folder == above:
        return folder
    return above.parent if not (above / "recipe.yaml").exists() and (above.parent / "recipe.yaml").exists() else above


def read_run(folder: Path) -> Run:
    """Return the run in a folder; an InputError gives the reason if its results cannot be used."""
    files = RunFolder(folder)
    try:
        results = files.read_results()
    except OSError as error:
        raise InputError(f"{files.results.name} cannot be read: {error.strerror}") from None
    if results is None:
        raise InputError("it is not finished: it has no results.json")
    _check(results)
    notes = [] if files.metrics.is_file() else ["metrics.csv is missing, so it has no curve"]
    recipe = None
    if not files.recipe.is_file():
        notes.append("recipe.yaml is missing, so its settings are not known")
    else:
        try:
            recipe = load_recipe(str(files.recipe))
        except (InputError, OSError) as error:
            notes.append(f"recipe.yaml cannot be read, so its settings are not known ({error})")
    return Run(folder, experiment_of(folder.absolute()), results, recipe, tuple(notes))


def _check(results: dict[str, Any]) -> None:
    """Raise unless results have what a comparison cannot do without."""
    metric, splits = results.get("metric"), results.get("splits")
    if not isinstance(metric, str) or metric not in METRICS:
        raise InputError(f"results.json has the metric {short(metric)}; accepted: {', '.join(METRICS)}")
    if not isinstance(splits, dict) or not splits:
        raise InputError(f"results.json has the splits {short(splits)}; accepted: a number for each split")
    for split, value in splits.items():
        if not (value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))):
            raise InputError(f"results.json has {short(value)} for the split {short(split)}; accepted: a number")
    for key in ("seed", "epochs"):
        if type(results.get(key)) is not int or results[key] < 0:
            raise InputError(f"results.json has {key} {short(results.get(key))}; accepted: a whole number, 0 or more")
    for key in ("parameters", "seconds", "seconds_per_epoch", "peak_memory_bytes"):
        value = results.get(key)
        if value is not None and not (type(value) in (int, float) and 0 <= value < math.inf):
            raise InputError(f"results.json has {key} {short(value)}; accepted: a number that is not negative")
    for key in ("data", "setting", "paper", "hardware", "versions", "model", "seconds_by_part", "peak_memory"):
        if not isinstance(results.get(key), (dict, type(None))):
            raise InputError(f"results.json has {key} {short(results[key])}; accepted: keys and values")
