"""The files in the folder of a run."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import write_text
from grpe_dgl.messages import short


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its files."""

    path: Path

    @property
    def recipe(self) -> Path:
        """The resolved recipe."""
        return self.path / "recipe.yaml"

    @property
    def metrics(self) -> Path:
        """One row per epoch; see `grpe_dgl.training.history`."""
        return self.path / "metrics.csv"

    @property
    def last(self) -> Path:
        """The checkpoint to resume from."""
        return self.path / "last.ckpt"

    @property
    def best(self) -> Path:
        """The checkpoint with the best validation metric; of the last epoch where there is no validation split."""
        return self.path / "best.ckpt"

    @property
    def curves(self) -> Path:
        """The plot of loss and metric by epoch."""
        return self.path / "curves.png"

    @property
    def predictions_plot(self) -> Path:
        """The plot of predictions against labels, for regression and yes/no targets."""
        return self.path / "predictions.png"

    def predictions(self, split: str) -> Path:
        """Return where the best model's predictions for a split are; see `grpe_dgl.training.predictions`."""
        return self.path / f"predictions_{split}.npz"

    @property
    def results(self) -> Path:
        """The best model's metric on every labelled split, and what it was trained with and on.

        Written last, so a run that has it is complete.
        """
        return self.path / "results.json"

    def read_results(self) -> dict[str, Any] | None:
        """Return the results of a complete run, None if the run is not complete."""
        if not self.results.exists():
            return None
        try:
            results = json.loads(self.results.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.results} is damaged: it is not JSON ({error})") from None
        if not isinstance(results, dict):
            raise InputError(f"{self.results} is damaged: it holds {short(results)}, not the results of a run")
        return results

    def write_results(self, results: dict[str, Any]) -> None:
        """Mark the run as complete."""
        write_text(self.results, json.dumps(results, indent=2) + "\n")
