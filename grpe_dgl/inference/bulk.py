"""Predictions and fingerprints of whole tables, chunk by chunk, in one process or several."""

import collections
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.domain import COLUMNS as DOMAIN_COLUMNS
from grpe_dgl.inference.calibration import FILE as CALIBRATION
from grpe_dgl.inference.calibration import read_calibration
from grpe_dgl.inference.domain import DomainComparison
from grpe_dgl.inference.ensemble import Ensemble
from grpe_dgl.inference.inputs import Chunk, Job, Rows
from grpe_dgl.inference.predictor import Predictor, load
from grpe_dgl.inference.writers import Writer
from grpe_dgl.io.quick_start import quick_first_call
from grpe_dgl.io.workers import run_in_order
from grpe_dgl.pretrained import model_file
from grpe_dgl.schema import Schema

Array = npt.NDArray[Any]
Result = tuple[list[str | None], list[Array]]
"""Why rows have no graph, or None, and the numbers of those that have one."""


@dataclass(frozen=True)
class Prediction:
    """Computes a chunk's predictions; pickled without the models, which each process loads itself."""

    checkpoints: tuple[Path, ...]
    device: str
    interval: float | None = None
    """The level of the intervals that are added; None for none."""
    run_folder: Path | None = None
    """For intervals: the folder of the run that the checkpoints are all models of."""
    domain: bool = False
    """Whether the comparison with the training molecules is added; see `grpe_dgl.data.domain`."""

    @property
    def files(self) -> tuple[Path, ...]:
        """What determines the numbers: the files of the models, and with intervals their calibration."""
        models = tuple(map(model_file, self.checkpoints))
        return models if self.run_folder is None else (*models, self.run_folder / CALIBRATION)

    @property
    def options(self) -> dict[str, Any]:
        """What changes the numbers beside the models."""
        return {"interval": self.interval, "domain": self.domain}

    @functools.cached_property
    def ensemble(self) -> Ensemble:
        """The models."""
        calibration = None
        if self.interval is not None and self.run_folder is not None:
            calibration = read_calibration(self.run_folder, self.checkpoints)
        return Ensemble([load(path, device=self.device) for path in self.checkpoints], calibration, self.interval)

    @property
    def schema(self) -> Schema:
        """The form of the data that the models read."""
        return self.ensemble.members[0].schema

    @property
    def text_columns(self) -> list[str]:
        """The names of the columns beside the numbers."""
        return self.ensemble.text_columns

    @functools.cached_property
    def comparison(self) -> DomainComparison | None:
        """Compares molecules with those the models were trained on, if asked."""
        return DomainComparison.of(self.ensemble.members) if self.domain else None

    @property
    def number_columns(self) -> list[str]:
        """The columns of the numbers."""
        return [*self.ensemble.number_columns, *(DOMAIN_COLUMNS if self.domain else ())]

    @quick_first_call
    def __call__(self, chunk: Chunk) -> Result:
        """Predict a chunk."""
        values = self.ensemble.predict(chunk)
        if self.comparison is not None:
            compared = self.comparison.rows(chunk)
            values = [
                np.concatenate([own, np.repeat(row[None], len(own), 0)], -1)
                for own, row in zip(values, compared, strict=True)
            ]
        return chunk.errors, values

    def __reduce__(self) -> tuple[Any, ...]:
        return Prediction, (self.checkpoints, self.device, self.interval, self.run_folder, self.domain)


@dataclass(frozen=True)
class Fingerprint:
    """Computes a chunk's fingerprints; pickled without the model, which each process loads itself."""

    checkpoint: Path
    device: str
    layers: int | None = None
    """See `Predictor.fingerprint`."""

    @property
    def files(self) -> tuple[Path, ...]:
        """What determines the numbers: the file of the model."""
        return (model_file(self.checkpoint),)

    @property
    def options(self) -> dict[str, Any]:
        """What changes the numbers beside the models."""
        return {"layers": self.layers}

    @functools.cached_property
    def predictor(self) -> Predictor:
        """The model."""
        return load(self.checkpoint, device=self.device)

    @property
    def width(self) -> int:
        """How many numbers a fingerprint has."""
        return self.predictor.model.fingerprint_size(self.predictor.require_layers(self.layers))

    @property
    def schema(self) -> Schema:
        """The form of the data that the model reads."""
        return self.predictor.schema

    @property
    def text_columns(self) -> list[str]:
        """The names of the columns beside the numbers: none."""
        return []

    @property
    def number_columns(self) -> list[str]:
        """The names of the columns of numbers."""
        return [f"fingerprint_{i}" for i in range(self.width)]

    @quick_first_call
    def __call__(self, chunk: Chunk) -> Result:
        """Return a chunk's fingerprints."""
        return chunk.errors, self.predictor.fingerprint_chunk(chunk, self.predictor.require_layers(self.layers))

    def __reduce__(self) -> tuple[Any, ...]:
        return Fingerprint, (self.checkpoint, self.device, self.layers)


def write_predictions(
    rows: Rows, prediction: Prediction, writer: Writer, *, workers: int = 1
) -> Iterator[list[str | None]]:
    """Predict and write every row; yield after each chunk its rows' errors, None for those with a prediction."""
    ensemble = prediction.ensemble
    none = [""] * len(ensemble.text_columns)
    missing = np.full((1, len(prediction.number_columns)), np.nan)
    outputs = len(ensemble.number_columns)
    for chunk_cells, errors, values in _results(rows.jobs, prediction, workers):
        found = iter(values)
        texts: list[list[str]] = []
        numbers: list[Array] = []
        reasons: list[str | None] = []
        for row, cells in enumerate(chunk_cells):
            these = missing if errors[row] is not None else next(found)
            own = [none] if errors[row] is not None else ensemble.texts(these[:, :outputs])
            if errors[row] is None and not np.isfinite(these).all():
                errors[row] = "the model's output is not a number"
            texts += [[*cells, *more] for more in own]
            numbers.append(these)
            reasons += [errors[row]] * len(these)
        writer.write(texts, np.concatenate(numbers), reasons)
        yield errors


def write_fingerprints(
    rows: Rows, fingerprint: Fingerprint, writer: Writer, *, workers: int = 1
) -> Iterator[list[str | None]]:
    """Write every row's fingerprint; yield after each chunk its rows' errors, None for those with a fingerprint."""
    for cells, errors, values in _results(rows.jobs, fingerprint, workers):
        numbers = np.full((len(cells), fingerprint.width), np.nan, np.float32)
        if values:
            numbers[[place for place, error in enumerate(errors) if error is None]] = np.concatenate(values)
        writer.write(cells, numbers, errors)
        yield errors


def write_results(
    rows: Rows, compute: Prediction | Fingerprint, writer: Writer, *, workers: int = 1
) -> Iterator[list[str | None]]:
    """Write every row's predictions or fingerprint; see `write_predictions` and `write_fingerprints`."""
    if isinstance(compute, Prediction):
        return write_predictions(rows, compute, writer, workers=workers)
    return write_fingerprints(rows, compute, writer, workers=workers)


def _results(
    jobs: Iterator[Job], compute: Callable[[Chunk], Result], workers: int
) -> Iterator[tuple[list[list[str]], list[str | None], list[Array]]]:
    """Yield the cells and the result of every job, in order; cells are not sent to other processes."""
    waiting: collections.deque[list[list[str]]] = collections.deque()

    def readers() -> Iterator[Callable[[], Chunk]]:
        for cells, read in jobs:
            waiting.append(cells)
            yield read

    for errors, values in run_in_order(readers(), compute, workers):
        yield waiting.popleft(), errors, values
