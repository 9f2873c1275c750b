"""``calibration.json`` of a run: errors on rows kept back from training, and the intervals that follow from them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.inference import conformal
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.messages import counted, significant
from grpe_dgl.schema import Task

FILE = "calibration.json"
PUBLISHED = "published"
"""The rule of datasets that come with their splits."""
FORMAT_VERSION = 1
Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class NumberErrors:
    """The errors of one target of a regression."""

    errors: list[float]
    """Absolute errors over the relative spread, ascending."""
    mean_square_spread: float
    """Of the rows kept back; 0 where no spread is known, so that all intervals have one width."""
    ratio: float = 1.0
    """The error of the mean of all models over that of the models that were measured; see `mean_error_ratio`."""

    def half_width(self, level: float, spread: Array, models: int) -> Array:
        """Return half the width of each interval, (n,)."""
        relative = conformal.relative_spread(spread, models, self.mean_square_spread)
        return self.ratio * conformal.quantile(np.asarray(self.errors), level) * relative


@dataclass(frozen=True, kw_only=True)
class ClassErrors:
    """The calibration of one target of a classification."""

    temperature: float
    shift: list[float]
    """Of each class's logit."""
    errors: list[list[float]]
    """Per class, ascending: 1 - the calibrated probability of the true class, of the rows of that class."""
    calibration_error: float
    """As the model is; see `grpe_dgl.inference.conformal.calibration_error`."""
    calibration_error_after: float
    """With temperature and shift, which for this figure were chosen on other rows than those it is measured on."""

    def contains(self, level: float, probabilities: Array) -> npt.NDArray[np.bool_]:
        """Return which classes are in the set of each row, (n, classes): it has the most likely class at least."""
        limits = np.array([conformal.quantile(np.asarray(errors), level) for errors in self.errors])
        inside = 1.0 - probabilities <= limits
        inside[np.arange(len(inside)), probabilities.argmax(1)] = True
        return inside


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a run learned from rows kept back from training and from the choice of the epoch."""

    method: str
    """``"split"``: one set of rows that no model saw; ``"cross"``: every row, by the models of the folds without it."""
    split: str
    """The rule that divided the rows."""
    rows: int
    models: list[str]
    """The checkpoints that are averaged, relative to the folder."""
    numbers: list[NumberErrors] = field(default_factory=list)
    """Regression: per target."""
    classes: list[ClassErrors] = field(default_factory=list)
    """Classification: per target."""

    @property
    def note(self) -> str | None:
        """What must be known of the intervals' coverage; None for a random split."""
        if self.split == "random":
            return None
        if self.split == PUBLISHED:
            return (
                "the intervals were calibrated on the dataset's own test split: the coverage holds for molecules like "
                "those, and may be another for others"
            )
        return (
            f"the rows that the intervals were calibrated on were divided by the rule {self.split!r}, so new molecules "
            "are not exchangeable with them: the coverage may be another than the one asked for"
        )

    def describe(self, task: Task, level: float = 0.9) -> list[str]:
        """Return lines on what was found: the width of intervals, or the calibration error before and after."""
        lines = []
        for target, number in zip(task.targets, self.numbers, strict=False):
            rows = "row" if len(number.errors) == 1 else "rows"
            kept_back = (
                f"{rows} kept back" if self.method == "split" else f"{rows}, each by the models that never saw it"
            )
            width = float(number.ratio * conformal.quantile(np.asarray(number.errors), level))
            if width < np.inf:
                lines.append(
                    f"{target}: intervals of {100 * level:g} % are ± {significant(width)} wide on average, from "
                    f"{len(number.errors):,} {kept_back}"
                )
            else:
                verb = "is" if len(number.errors) == 1 else "are"
                lines.append(
                    f"{target}: {len(number.errors)} {kept_back} {verb} too few for intervals of {100 * level:g} %"
                )
        for target, each in zip(task.targets, self.classes, strict=False):
            if each.temperature == 1.0 and not any(each.shift):
                lines.append(
                    f"{target}: calibration error {100 * each.calibration_error:.1f} %; probabilities stay as they "
                    f"are, as no other temperature was better for {self.rows:,} rows kept back"
                )
                continue
            lines.append(
                f"{target}: calibration error {100 * each.calibration_error:.1f} %, of calibrated probabilities "
                f"{100 * each.calibration_error_after:.1f} % (temperature {each.temperature:.2f})"
            )
        if lines and self.note is not None:
            lines.append(self.note)
        return lines

    def require(self, level: float) -> None:
        """Raise unless intervals of this level can be given."""
        conformal.check_level(level)
        for target in self.numbers:
            conformal.require_enough(len(target.errors), level, "the run")

    def number_columns(self, task: Task) -> list[str]:
        """Return the names of what `extend` adds."""
        names = task.output_columns()
        if task.kind == "regression":
            return [f"{name}_{end}" for name in names for end in ("low", "high")]
        return [f"calibrated_{name}" for name in names]

    def set_columns(self, task: Task) -> list[str]:
        """Return the names of the columns of prediction sets."""
        return [] if task.kind == "regression" else [f"set_{target}" for target in task.targets]

    def extend(self, task: Task, values: Array, spread: Array, level: float) -> Array:
        """Return the numbers of `number_columns` for predictions and their spread, (n, outputs) each."""
        if task.kind == "regression":
            widths = [target.half_width(level, spread[:, t], len(self.models)) for t, target in enumerate(self.numbers)]
            return np.stack([values[:, t] + sign * width for t, width in enumerate(widths) for sign in (-1, 1)], 1)
        if task.kind == "multiclass":
            return conformal.calibrated(values, self.classes[0].temperature, self.classes[0].shift)
        parts = [
            conformal.calibrated(_two(values[:, t]), target.temperature, target.shift)[:, 1]
            for t, target in enumerate(self.classes)
        ]
        return np.stack(parts, 1)

    def sets(self, task: Task, calibrated: Array, level: float) -> list[list[str]]:
        """Return the cells of `set_columns`, the classes of each set with a bar between them, per row."""
        if task.kind == "regression":
            return [[] for _ in calibrated]
        if task.kind == "multiclass":
            parts = [(self.classes[0].contains(level, calibrated), task.classes)]
        else:
            named = list(zip(task.negative, task.positive, strict=True)) or [("0", "1")] * len(task.targets)
            parts = [
                (target.contains(level, _two(calibrated[:, t])), named[t]) for t, target in enumerate(self.classes)
            ]
        return [
            ["|".join(name for name, inside in zip(names, sets[row], strict=True) if inside) for sets, names in parts]
            for row in range(len(calibrated))
        ]

    def write(self, folder: Path) -> None:
        """Write the file into a run's folder."""
        write_text(folder / FILE, json.dumps({"format_version": FORMAT_VERSION, **asdict(self)}) + "\n")


def read_calibration(folder: Path, models: Sequence[Path]) -> Calibration:
    """Return the calibration of a run's models; raises an InputError if the folder has none, or one of other models."""
    file = folder / FILE
    if not file.exists():
        raise InputError(
            f"{folder} has no {FILE}, which a run gets at its end if its data has a test split with labels; models "
            "that an earlier version trained, or that are part of a run, have none",
            hint="make_calibration",
            value=str(folder),
        )
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        version = plain.pop("format_version")
        numbers = [NumberErrors(**each) for each in plain.pop("numbers")]
        classes = [ClassErrors(**each) for each in plain.pop("classes")]
        found = Calibration(**plain, numbers=numbers, classes=classes)
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        raise InputError(f"{file} is damaged: {error}") from None
    if version != FORMAT_VERSION:
        raise InputError(f"{file} has format version {version}; this version reads {FORMAT_VERSION}")
    if [str(path.relative_to(folder)) for path in models] != found.models:
        raise InputError(
            f"{file} is of {counted(len(found.models), 'model')} together; accepted: the run's folder {folder}"
        )
    return found


def number_errors(
    predictions: Array, labels: Array, spread: Array, *, own: int, together: int, between: float | None
) -> NumberErrors:
    """Return the errors of one target on rows kept back.

    Parameters
    ----------
    predictions, labels, spread
        (n,): of rows with a label; the spread is over the `own` models of each row.
    own, together
        How many models were averaged for `predictions`, and are averaged for a new molecule.
    between
        The variance between models on rows kept back; None if it is not known.
    """
    residual = labels.astype(np.float64) - predictions
    mean_square = float((spread**2).mean()) if own > 1 and len(spread) else 0.0
    relative = conformal.relative_spread(spread, own, mean_square)
    ratio = 1.0
    if between is not None and len(residual):
        ratio = conformal.mean_error_ratio(float((residual**2).mean()), between, own, together)
    return NumberErrors(
        errors=np.sort(np.abs(residual) / relative).tolist(), mean_square_spread=mean_square, ratio=ratio
    )


def class_errors(probabilities: Array, labels: Array, parts: int = 5) -> ClassErrors:
    """Return the calibration of one target on rows kept back; none if it makes other rows' probabilities no better.

    Parameters
    ----------
    probabilities
        (n, classes).
    labels
        (n,) class numbers.
    parts
        The rows are divided into so many parts, to measure the calibration error of each with the temperature of the
        others.
    """
    logits = conformal.to_logits(probabilities)
    temperature, shift = conformal.fit_temperature(logits, labels)
    part = np.random.default_rng(0).permutation(len(labels)) % parts
    after = np.empty_like(logits)
    for number in range(parts):
        own = part == number
        other = conformal.fit_temperature(logits[~own], labels[~own])
        after[own] = conformal.calibrated(probabilities[own], *other)
    if conformal.log_loss(after, labels) >= conformal.log_loss(probabilities, labels):
        temperature, shift, after = 1.0, np.zeros_like(shift), probabilities
    final = conformal.calibrated(probabilities, temperature, shift)
    truth = 1.0 - final[np.arange(len(labels)), labels]
    return ClassErrors(
        temperature=temperature,
        shift=shift.tolist(),
        errors=[np.sort(truth[labels == number]).tolist() for number in range(probabilities.shape[1])],
        calibration_error=conformal.calibration_error(probabilities, labels),
        calibration_error_after=conformal.calibration_error(after, labels),
    )


def _two(positive: Array) -> Array:
    """Return the probabilities of both classes, (n, 2), from that of the positive one."""
    return np.stack([1.0 - positive, positive], 1)
