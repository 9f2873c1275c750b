"""From a table of molecules to a model in one call."""

import contextlib
import dataclasses
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.data import splits
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.sources.csv import CSVRequest
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.errors import InputError
from grpe_dgl.inference.calibration import Calibration
from grpe_dgl.inference.run_predictor import SHOWN, RunPredictor
from grpe_dgl.io.run_models import BEST
from grpe_dgl.pretrained import shipped_models
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.recipe.load import read_recipe
from grpe_dgl.recipe.overrides import parse_overrides, shorten
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.stop_request import StopRequest
from grpe_dgl.workflows.calibrate import calibrate_split
from grpe_dgl.workflows.cross_validation import cross_validate
from grpe_dgl.workflows.experiment import DATA, ExperimentCallbacks, run_experiment
from grpe_dgl.workflows.folds import FoldPlan
from grpe_dgl.workflows.frame_table import as_file, column_name
from grpe_dgl.workflows.plan import FinishedRun
from grpe_dgl.workflows.table_data import make_dataset, require_new, skipped_rows


def fit(
    table: Any,
    smiles: str | None = None,
    target: str | int | Sequence[str | int] = (),
    *,
    task: str | None = None,
    positive: Sequence[str] = (),
    weights: str | None = None,
    recipe: str | Path | Recipe = "property",
    settings: Mapping[str, object] | Iterable[str] = (),
    epochs: int | None = None,
    from_scratch: bool = False,
    split: str | None = None,
    split_column: str | None = None,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    folds: int | None = None,
    repeats: int = 1,
    final: bool = False,
    out: str | Path | None = None,
    resume: bool = False,
    name: str | None = None,
    max_nodes: int = MAX_NODES,
    standardise: bool = False,
    sheet: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    bad_labels: str = "refuse",
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
        The column of the molecules; None for the usual names, such as ``smiles``.
    target
        The column or columns to predict; a missing value is a missing label.
    task, positive
        ``"regression"`` or ``"classification"``, and of two classes the positive one; None infers them.
    weights
        The column of the rows' weights in the training loss: numbers of 0 or more. They do not count in metrics.
    recipe
        The name of a shipped recipe, the path of one, or a `grpe_dgl.recipe.Recipe`.
    settings
        Keys of the recipe to change: ``{"model.layers": 4}`` or ``["model.layers=4"]``.
    epochs
        The length of the schedule; a shorter one shortens the warm-up, too.
    from_scratch
        Whether to start from random weights, where the recipe starts from a shipped model.
    split, split_column, fractions
        How rows are divided: ``"random"`` or ``"scaffold"`` by fractions of train, valid and test, or ``"column"``.
        With fractions of 1, 0, 0 every row is trained on, and the model of the last epoch is taken.
    seed
        Of the random split and of training.
    folds, repeats
        A cross-validation instead of one split: so many folds, divided anew so many times, by the rule `split`;
        by ``"column"``, rows of one value stay in one fold. All models together are the predictor.
    final
        With folds: train one more model on all rows, for the median of the folds' best epochs. It is in the folder
        ``final`` of `out`.
    out
        The folder of the run; a temporary one, removed at the end, if None.
    resume
        Whether to continue the run in `out`.
    name
        The dataset's name; that of the file, or ``"table"``, if None.
    max_nodes
        Molecules of more atoms are skipped.
    standardise
        Whether molecules are reduced to their largest fragment, without charges where possible; the model does so again
        with those it predicts.
    sheet, decimal, thousands
        Of a file: the sheet of a workbook, and how numbers are written, ``"."`` or ``","``.
    bad_labels
        What to do with labels of a regression that are not numbers: ``"refuse"`` the table, or take them for
        ``"missing"``.
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
        Its attribute `skipped` has the rows that could not be used, which a warning lists, and `notes` what was found
        in the table: the task that was inferred, salts, molecules in several splits, ...

    Examples
    --------
    >>> model = grpe_dgl.fit(frame, smiles="smiles", target="logS")     # doctest: +SKIP
    >>> model.predict(frame)["predicted_logS"]                          # doctest: +SKIP
    """
    targets = tuple(map(column_name, [target] if isinstance(target, str | int) else target))
    if folds is None and (repeats != 1 or final):
        raise InputError("repeats and final go with folds; accepted: folds=5")
    if final and out is None:
        raise InputError("the final model is in the folder of the run; accepted with final: out=FOLDER")
    with contextlib.ExitStack() as stack:
        columns = [*targets, *(column for column in (split_column, weights) if column)]
        file, smiles, index = stack.enter_context(as_file(table, smiles, columns))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grpe-fit-")) if out is None else out)
        request = CSVRequest(
            file=file,
            sheet=sheet,
            smiles=smiles,
            targets=targets,
            numbers=NumberFormat(decimal, thousands),
            task=task,
            positive=tuple(positive),
            split=split or ("column" if split_column else "random"),
            split_column=split_column,
            fractions=tuple(fractions),
            seed=seed,
            max_nodes=max_nodes,
            standardise=standardise,
            bad_labels=bad_labels,
            weight_column=weights,
            name=name,
        )
        chosen = own_recipe(recipe, request.dataset, settings=settings, epochs=epochs, seed=seed)
        chosen = dataclasses.replace(chosen, start_from=None) if from_scratch else chosen
        if out is not None:
            require_new(folder, resume=resume)
        plan = fold_plan(request, folds, repeats) if folds is not None else None
        notes = make_dataset(
            request if plan is None else all_rows(request), folder / DATA, workers=workers, resume=resume
        )
        options: dict[str, Any] = {"resume": resume, "stop": stop, "callbacks": callbacks}
        options["processes"] = Processes(device=torch.device(device))
        if plan is None:
            fit_split(chosen, request.split, folder, **options)
        else:
            cross_validate(chosen, folder / DATA, request.table(), folder, plan, final=final, **options)
        predictor = RunPredictor.of_folder(folder, device=device)
        predictor.notes = notes
        predictor.skipped = {row if index is None else index[row]: why for row, why in skipped_rows(folder / DATA)}
    if predictor.skipped:
        shown = [f"row {row}: {why}" for row, why in list(predictor.skipped.items())[:SHOWN]]
        more = f"; and {len(predictor.skipped) - SHOWN:,} more" if len(predictor.skipped) > SHOWN else ""
        warnings.warn(
            f"{len(predictor.skipped):,} rows were not used: {'; '.join(shown)}{more}; the attribute skipped has all",
            stacklevel=2,
        )
    return predictor


def fit_split(recipe: Recipe, rule: str, out: Path, **options: Any) -> tuple[list[FinishedRun], Calibration | None]:
    """Train a recipe's runs on the dataset in `out` and calibrate them together on its test split.

    Parameters
    ----------
    recipe
        From `own_recipe`.
    rule
        By which the rows were divided.
    out
        The folder of the run.
    **options
        See `grpe_dgl.workflows.experiment.run_experiment`.
    """
    finished = run_experiment(recipe, out / DATA, out, **options)
    if not options.get("processes", SINGLE).is_main:
        return finished, None
    return finished, calibrate_split(out / DATA, [run.planned.folder / BEST for run in finished], rule, out)


def fold_plan(request: CSVRequest, folds: int, repeats: int) -> FoldPlan:
    """Return the plan of a cross-validation by the rule and the seed of a request; its fractions give valid's share."""
    train, valid, _ = splits.check_fractions(request.fractions)
    return FoldPlan(
        folds=folds,
        repeats=repeats,
        split=request.split,
        column=request.split_column,
        valid=valid / (train + valid),
        seed=request.seed,
    )


def all_rows(request: CSVRequest) -> CSVRequest:
    """Return the request for a dataset of all rows in one split, which a cross-validation divides itself."""
    return dataclasses.replace(
        request, split="random", split_column=None, split_files={}, fractions=(1.0, 0.0, 0.0), seed=0
    )


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
    if chosen.start_from is not None and chosen.start_from not in shipped_models():
        raise InputError(
            f"the recipe starts from a model of {chosen.start_from}; accepted: one that starts from a shipped model or "
            "from scratch"
        )
    return dataclasses.replace(chosen, dataset=dataset, paper=None)
