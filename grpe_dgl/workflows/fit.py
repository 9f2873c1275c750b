"""From a table of molecules to a model in one call."""

import contextlib
import csv
import dataclasses
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import existing, preprocess
from grpe_dgl.errors import InputError
from grpe_dgl.inference.run_predictor import SHOWN, RunPredictor
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.load import read_recipe
from grpe_dgl.recipe.overrides import parse_overrides, shorten
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.stop_request import StopRequest
from grpe_dgl.workflows.experiment import DATA, ExperimentCallbacks, run_experiment


def fit(
    table: Any,
    smiles: str = "smiles",
    target: str | Sequence[str] = (),
    *,
    task: str | None = None,
    positive: Sequence[str] = (),
    recipe: str | Path | Recipe = "property",
    settings: Mapping[str, object] | Iterable[str] = (),
    epochs: int | None = None,
    split: str | None = None,
    split_column: str | None = None,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    name: str | None = None,
    max_nodes: int = MAX_NODES,
    workers: int = 1,
    device: str = "cpu",
    stop: StopRequest | None = None,
    callbacks: ExperimentCallbacks | None = None,
) -> RunPredictor:
    """Train a model on a table of molecules and return it, ready to predict.

    Parameters
    ----------
    table
        A pandas DataFrame, a dict of columns, or the path of a table that `grpe preprocess csv` reads.
    smiles
        The column of the molecules.
    target
        The column or columns to predict; a missing value is a missing label.
    task, positive
        ``"regression"`` or ``"classification"``, and of two classes the positive one; None infers them.
    recipe
        The name of a shipped recipe, the path of one, or a `grpe_dgl.recipe.Recipe`.
    settings
        Keys of the recipe to change: ``{"model.layers": 4}`` or ``["model.layers=4"]``.
    epochs
        The length of the schedule; a shorter one shortens the warm-up, too.
    split, split_column, fractions
        How rows are divided: ``"random"`` or ``"scaffold"`` by fractions of train, valid and test, or ``"column"``.
        With fractions of 1, 0, 0 every row is trained on, and the model of the last epoch is taken.
    seed
        Of the random split and of training.
    out
        The folder of the run; a temporary one, removed at the end, if None.
    resume
        Whether to continue the run in `out`.
    name
        The dataset's name; that of the file, or ``"table"``, if None.
    max_nodes
        Molecules of more atoms are skipped.
    workers
        Processes that read molecules.
    device
        Where the model is trained.
    stop
        Ends training early; see `grpe_dgl.workflows.experiment.run_experiment`.
    callbacks
        Report progress.

    Returns
    -------
    RunPredictor
        Its attribute `skipped` has the rows that could not be used, which a warning lists.

    Examples
    --------
    >>> model = grpe_dgl.fit(frame, smiles="smiles", target="logS")     # doctest: +SKIP
    >>> model.predict(frame)["predicted_logS"]                          # doctest: +SKIP
    """
    targets = (target,) if isinstance(target, str) else tuple(target)
    with contextlib.ExitStack() as stack:
        file, index = _as_file(table, [smiles, *targets, *([split_column] if split_column else [])], stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grpe-fit-")) if out is None else out)
        request = CSVRequest(
            file=file,
            smiles=smiles,
            targets=targets,
            task=task,
            positive=tuple(positive),
            split=split or ("column" if split_column else "random"),
            split_column=split_column,
            fractions=tuple(fractions),
            seed=seed,
            max_nodes=max_nodes,
            name=name,
        )
        chosen = own_recipe(recipe, request.dataset, settings=settings, epochs=epochs, seed=seed)
        if out is not None:
            require_new(folder, resume=resume)
        make_dataset(request, folder / DATA, workers=workers)
        run_experiment(
            chosen,
            folder / DATA,
            folder,
            resume=resume,
            processes=Processes(device=torch.device(device)),
            stop=stop,
            callbacks=callbacks,
        )
        predictor = RunPredictor.of_folder(folder, device=device)
        predictor.skipped = {row if index is None else index[row]: why for row, why in skipped_rows(folder / DATA)}
    if predictor.skipped:
        shown = [f"row {row}: {why}" for row, why in list(predictor.skipped.items())[:SHOWN]]
        more = f"; and {len(predictor.skipped) - SHOWN:,} more" if len(predictor.skipped) > SHOWN else ""
        warnings.warn(
            f"{len(predictor.skipped):,} rows were not used: {'; '.join(shown)}{more}; the attribute skipped has all",
            stacklevel=2,
        )
    return predictor


def own_recipe(
    recipe: str | Path | Recipe,
    dataset: str,
    *,
    settings: Mapping[str, object] | Iterable[str] = (),
    epochs: int | None = None,
    seed: int | None = None,
) -> Recipe:
    """Return a recipe for one's own dataset: with changes, and without the numbers of a paper.

    Parameters
    ----------
    recipe
        A name, a path, or a recipe.
    dataset
        The dataset's name.
    settings, epochs, seed
        Changes; `epochs` keeps the warm-up's share of the schedule, and `settings` come last.
    """
    changes: dict[str, object] = {} if seed is None else {"training.seed": seed}
    if epochs is not None:
        training = recipe.to_dict()["training"] if isinstance(recipe, Recipe) else read_recipe(recipe).get("training")
        changes |= {"training.epochs": epochs, **(shorten(training, epochs) if isinstance(training, Mapping) else {})}
    changes |= parse_overrides(settings)
    chosen = recipe.override(changes) if isinstance(recipe, Recipe) else load_recipe(recipe, changes)
    if chosen.variants:
        raise InputError(f"the recipe has the variants {', '.join(chosen.variants)}; accepted: a recipe without")
    return dataclasses.replace(chosen, dataset=dataset, paper=None)


def require_new(out: Path, *, resume: bool) -> None:
    """Raise if the folder of a run is in use, before anything is written to it."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    if not resume and out.exists() and any(file.name not in (".lock", DATA) for file in out.iterdir()):
        raise InputError(f"{out} exists already, and resume is not set", hint="resume_run")


def make_dataset(request: CSVRequest, folder: Path, *, workers: int = 1) -> list[str]:
    """Make the dataset of a table unless it is there, made with the same settings; return notes for the user."""
    if existing(folder, request.settings()) is not None:
        return []
    source, notes = csv_source(request)
    preprocess(source, folder, workers=workers)
    return notes


def skipped_rows(dataset_folder: Path) -> list[tuple[int, str]]:
    """Return the rows of a dataset's source that became no graph, with the reasons."""
    with (dataset_folder / "skipped.csv").open(newline="", encoding="utf-8") as file:
        return [(int(row["row"]), row["reason"]) for row in csv.DictReader(file)]


def _as_file(table: Any, columns: Sequence[str], stack: contextlib.ExitStack) -> tuple[Path, Any]:
    """Return a table as a file, and the labels of its rows; None where they are numbered from 0."""
    if isinstance(table, str | Path):
        return Path(table), None
    import pandas

    if not isinstance(table, pandas.DataFrame | Mapping):
        raise InputError(
            f"table is a {type(table).__name__}; accepted: a DataFrame, a dict of columns, or the path of a table"
        )
    frame = table if isinstance(table, pandas.DataFrame) else pandas.DataFrame(dict(table))
    for column in columns:
        if list(frame.columns).count(column) != 1:
            found = ", ".join(map(repr, frame.columns))
            raise InputError(f"the table has {list(frame.columns).count(column)} columns {column!r}; it has {found}")
    if not len(frame):
        raise InputError("the table has no rows")
    file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grpe-table-"))) / "table.csv"
    frame[list(dict.fromkeys(columns))].to_csv(file, index=False, lineterminator="\n")
    return file, frame.index
