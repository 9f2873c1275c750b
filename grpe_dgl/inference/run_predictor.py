"""The models of a run as one predictor: the mean of several, and tables in for tables out."""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.domain import COLUMNS
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.errors import InputError
from grpe_dgl.inference.calibration import FILE, Calibration, read_calibration
from grpe_dgl.inference.domain import DomainComparison
from grpe_dgl.inference.ensemble import Ensemble
from grpe_dgl.inference.inputs import smiles_rows
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.smiles_input import SMILESInput, is_frame, smiles_of
from grpe_dgl.io.atomic_folder import AtomicFolder
from grpe_dgl.io.run_models import models_of
from grpe_dgl.schema import Schema

if TYPE_CHECKING:
    import pandas

Array = npt.NDArray[Any]
SHOWN = 10  # rows that a warning lists


class RunPredictor:
    """One or several models of one task that predict molecules together; `grpe_dgl.fit` returns one.

    Parameters
    ----------
    members
        The models.
    calibration
        Their errors on rows kept back, for intervals; None if there is none.
    skipped
        Rows of the training table that became no graph: row label to reason.

    Attributes
    ----------
    members : Sequence[Predictor]
    skipped : dict
    notes : list[str]
        What `grpe_dgl.fit` found in the table; empty for models that were opened.
    """

    def __init__(
        self,
        members: Sequence[Predictor],
        *,
        calibration: Calibration | None = None,
        skipped: dict[Any, str] | None = None,
    ) -> None:
        self.ensemble = Ensemble(members, calibration)
        self.skipped = skipped or {}
        self.notes: list[str] = []

    @classmethod
    def of_folder(cls, folder: Path, *, device: str = "cpu") -> "RunPredictor":
        """Open every model of a finished run."""
        from grpe_dgl.inference.predictor import load

        models = models_of(folder)
        calibration = read_calibration(folder, models) if (folder / FILE).exists() else None
        return cls([load(path, device=device) for path in models], calibration=calibration)

    def __repr__(self) -> str:
        more = f", mean of {len(self.members)} models" if len(self.members) > 1 else ""
        return f"RunPredictor({self.members[0]!r}{more})"

    @property
    def members(self) -> Sequence[Predictor]:
        """The models."""
        return self.ensemble.members

    @property
    def schema(self) -> Schema:
        """The form of the data the models were trained on."""
        return self.members[0].schema

    @property
    def calibration(self) -> Calibration | None:
        """The errors on rows kept back, which intervals follow from."""
        return self.ensemble.calibration

    def predict(
        self,
        smiles: SMILESInput,
        *,
        interval: float | None = None,
        domain: bool = False,
        max_nodes: int = MAX_NODES,
    ) -> Any:
        """Predict molecules.

        Parameters
        ----------
        smiles
            As in `Predictor.predict`: R molecules, or a table with one column of SMILES.
        interval
            The level of intervals, such as 0.9. The result is a DataFrame then: of a regression with the columns
            ``_low`` and ``_high`` of every target, of a classification with calibrated probabilities and the set of
            classes that holds the true one with that probability.
        domain
            Whether to compare each molecule with the training molecules. The result is a DataFrame then, with the
            columns of `grpe_dgl.data.domain`.
        max_nodes
            The largest molecule that is taken, in atoms.

        Returns
        -------
        numpy.ndarray or pandas.DataFrame
            (R, outputs) float32 in the target's own unit, or probabilities. For a DataFrame a DataFrame with its index
            and named columns; those of several models have their spread, too. A molecule that is missing or cannot be
            read is a row of NaN, with a warning that lists the rows.
        """
        ensemble = self.ensemble
        if interval is not None:
            if ensemble.calibration is None:
                raise InputError(
                    "the models have no calibration, which intervals need: they were trained without rows kept back"
                )
            ensemble = dataclasses.replace(ensemble, level=interval)
            if ensemble.calibration is not None and ensemble.calibration.note is not None:
                warnings.warn(ensemble.calibration.note, stacklevel=2)
        comparison = DomainComparison.of(self.members) if domain else None
        numbers, texts, compared = self._rows(ensemble, smiles, max_nodes, comparison)
        if is_frame(smiles) or interval is not None or domain:
            frame = _frame(ensemble, smiles, numbers, texts)
            return frame if comparison is None else frame.assign(**dict(zip(COLUMNS, compared.T, strict=True)))
        return numbers[:, : self.schema.task.num_outputs].astype(np.float32)

    def save(self, folder: str | Path) -> None:
        """Write the models to a new folder, which `grpe predict` and `grpe_dgl.load` take."""
        path = Path(folder)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"{path} exists already; accepted: a new or an empty folder")
        with AtomicFolder(path) as staging:
            paths: list[str] = []
            for number, member in enumerate(self.members):
                own = staging.folder if len(self.members) == 1 else staging.folder / f"fold-{number + 1}"
                own.mkdir(exist_ok=True)
                member.checkpoint.save(own / "best.ckpt")
                (own / "results.json").write_text("{}\n", encoding="utf-8")
                paths.append(str((own / "best.ckpt").relative_to(staging.folder)))
            if self.calibration is not None:
                dataclasses.replace(self.calibration, models=paths).write(staging.folder)
            staging.commit()

    def _rows(
        self, ensemble: Ensemble, smiles: SMILESInput, max_nodes: int, comparison: DomainComparison | None
    ) -> tuple[Array, list[list[str]], Array]:
        """Return the numbers and cells of each row, as `Ensemble` names them, and its comparison."""
        molecules = smiles_of(smiles)
        self.members[0].require_molecules()
        if self.schema.task.level != "graph":
            raise InputError("the model predicts nodes; accepted: a model of a task per molecule")
        width = len(ensemble.number_columns)
        numbers = np.full((len(molecules), width), np.nan)
        texts = [[""] * len(ensemble.text_columns) for _ in molecules]
        compared = np.full((len(molecules), len(COLUMNS)), np.nan)
        failed: list[str] = []
        place = 0
        rows = smiles_rows(
            [text or "" for text in molecules],
            max_nodes=max_nodes,
            standardised=self.schema.standardised_molecules,
        )
        for _, read in rows.jobs:
            chunk = read()
            found = iter(ensemble.predict(chunk))
            if comparison is not None:
                read_here = [place + i for i, error in enumerate(chunk.errors) if error is None]
                compared[read_here] = comparison.rows(chunk)
            for error in chunk.errors:
                if error is None:
                    values = next(found)
                    numbers[place], texts[place] = values[0], ensemble.texts(values)[0]
                else:
                    reason = "there is none" if molecules[place] is None else error
                    failed.append(f"{_label(smiles, place)}: {reason}")
                place += 1
        if failed:
            more = f"; and {len(failed) - SHOWN:,} more" if len(failed) > SHOWN else ""
            shown = "; ".join(failed[:SHOWN])
            warnings.warn(
                f"{len(failed):,} of {len(molecules):,} molecules have no prediction: {shown}{more}", stacklevel=3
            )
        return numbers, texts, compared


def _frame(ensemble: Ensemble, given: Any, numbers: Array, texts: list[list[str]]) -> "pandas.DataFrame":
    """Return predictions as a DataFrame with the index of the one that was given, and the sets of classes."""
    import pandas

    index = given.index if is_frame(given) else None
    frame = pandas.DataFrame(numbers, index=index, columns=ensemble.number_columns)
    for place, name in enumerate(ensemble.text_columns):
        frame[name] = [cells[place] for cells in texts]
    return frame


def _label(given: Any, place: int) -> str:
    """Return how a row is called: by its label in a DataFrame's index, else by its number."""
    return f"row {given.index[place]}" if is_frame(given) else f"molecule {place}"
