"""The arguments of `grpe predict`, `grpe fingerprint` and `grpe evaluate`: checkpoints, then molecules or graphs."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.data.tables.formats import SUFFIXES, is_table
from grpe_dgl.io.run_models import is_run_folder, models_of
from grpe_dgl.messages import counted
from grpe_dgl.pretrained import is_shipped, model_file

from .make_encodings import make_encodings
from .options import device_option, options_as, require_file
from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.inference import Predictor
    from grpe_dgl.inference.inputs import Rows

OTHER_FILES = (".xls", ".ods", ".mol", ".json", ".npy", ".zip")  # no SMILES ends in these
ROWS_PER_WORKER = 5_000  # with fewer, the work is done before another process has started
MAX_NODES = 512  # default


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """How inputs are read and by how many processes; None where an option was not given."""

    force: bool
    smiles: str | None
    sheet: str | None
    split: str | None
    device: str
    max_nodes: int | None
    workers: int | None

    def choose_workers(self, rows: "Rows", device: str) -> int:
        """Return the number of processes: ``--workers``, or as many as make it faster."""
        from grpe_dgl.io.workers import cores

        if self.workers is not None:
            return self.workers
        return 1 if device.startswith("cuda") else max(1, min(cores(), rows.total // ROWS_PER_WORKER))


input_options = options_as(
    InputOptions,
    (
        click.option("--force", is_flag=True, help="Overwrite --out."),
        click.option("--smiles", help="The table's column of molecules.  "
                     "[default: smiles, SMILES, canonical_smiles, ...]"),
        click.option("--sheet", help="Of an Excel workbook.  [default: the first with a column of SMILES]"),
        click.option("--split", help="Of a processed dataset: only this split.  [default: every graph]"),
        device_option,
        click.option("--max-nodes", type=click.IntRange(min=1),
                     help=f"Molecules of more atoms get an error instead.  [default: {MAX_NODES}]"),
        click.option("--workers", type=click.IntRange(min=1), help="Processes, each with the model.  "
                     f"[default: one for every {ROWS_PER_WORKER:,} rows, up to one per core; one with CUDA]"),
    ),
)  # fmt: skip


def checkpoints_and_inputs(arguments: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Divide the arguments: the first one and all that look like models after it, then the input.

    A model is a checkpoint or the folder of a run, which stands for all of its models.
    """
    count = 1
    while count < len(arguments) and _is_checkpoint(arguments[count]):
        count += 1
    if is_table(arguments[0]) and any(map(_is_checkpoint, arguments[1:])):
        raise click.UsageError(f"{' '.join(arguments)}: the checkpoint comes first, then the input")
    if count == len(arguments):
        raise click.UsageError("no input; give a table, a processed dataset, or SMILES after the checkpoint")
    checkpoints = _models(arguments[:count])
    inputs = list(arguments[count:])
    if len(inputs) == 1 and is_table(inputs[0]) and not glob.has_magic(inputs[0]):
        require_file(Path(inputs[0]))
    return checkpoints, inputs


def models_and_table(arguments: tuple[str, ...]) -> tuple[list[Path], Path | None]:
    """Divide the arguments of `grpe evaluate`: one or more models, and at most one table after them."""
    *others, last = arguments
    table = Path(last) if others and not _is_checkpoint(last) and not is_shipped(Path(last)) else None
    models = _models(arguments if table is None else others)
    if table is not None:
        require_file(table)
    return models, table


def _models(names: Sequence[str]) -> list[Path]:
    """Return the checkpoints that names stand for: files, shipped models, and all models in the folders of runs."""
    found = []
    for path in map(Path, names):
        if path.is_dir() and not is_shipped(path):
            found += models_of(path)
            continue
        model_file(path)  # raises for a name that is neither a file nor a shipped model
        if not is_shipped(path):
            require_file(path)
        found.append(path)
    return found


def one_run_folder(arguments: tuple[str, ...], inputs: list[str]) -> Path:
    """Return the folder of the run whose models the arguments name; intervals are of all models of one run."""
    models = arguments[: len(arguments) - len(inputs)]
    if len(models) > 1:
        raise click.UsageError(f"--interval: {len(models)} models; accepted: the folder of one run")
    path = Path(models[0])
    return path if path.is_dir() else path.parent


def open_rows(inputs: list[str], predictor: "Predictor", options: InputOptions) -> "Rows":
    """Return the rows of one table, one processed dataset, or SMILES given as arguments."""
    from grpe_dgl.data.tables.table import Table
    from grpe_dgl.errors import InputError
    from grpe_dgl.inference.inputs import smiles_rows, table_rows

    files = [name for name in inputs if _names_a_file(name)]
    if files and len(inputs) > 1:
        raise click.UsageError(
            f"{' '.join(inputs)}: accepted: one table, one processed dataset, or any number of SMILES"
        )
    path = Path(inputs[0])
    if files and path.is_dir():
        _refuse("a table", "--smiles", options.smiles)
        _refuse("an Excel workbook", "--sheet", options.sheet)
        _refuse("molecules", "--max-nodes", options.max_nodes)
        return _open_dataset(path, predictor, options.split)
    _refuse("a processed dataset", "--split", options.split)
    max_nodes = options.max_nodes or MAX_NODES
    if not files:
        _refuse("a table", "--smiles", options.smiles)
        _refuse("an Excel workbook", "--sheet", options.sheet)
        predictor.require_molecules()
        return smiles_rows(inputs, max_nodes=max_nodes, standardised=predictor.schema.standardised_molecules)
    predictor.require_molecules()
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder, and it is not a SMILES")
    if not is_table(path.name):
        raise InputError(
            f"{path}: accepted: a table ({', '.join(SUFFIXES)}), a folder that `grpe preprocess` made, or SMILES"
        )
    table = Table(path, sheet=options.sheet)
    for note in table.notes:
        echo(note, err=True)
    standardised = predictor.schema.standardised_molecules
    return table_rows(table, options.smiles, max_nodes=max_nodes, standardised=standardised)


def _open_dataset(path: Path, predictor: "Predictor", split: str | None) -> "Rows":
    from grpe_dgl.data import load
    from grpe_dgl.inference.inputs import dataset_rows

    data = load(path)
    predictor.schema.require_same_input(data.schema, what=str(path), model=predictor.source)
    if (warning := predictor.schema.different_molecules(data.schema, what=str(path))) is not None:
        echo(f"warning: {warning}", err=True)
    make_encodings(path, predictor.view.encodings)
    if data.manifest.num_skipped:
        skipped = f"{counted(data.manifest.num_skipped, 'row')} of its source became no graph"
        echo(f"{path}: {skipped}; {path / 'skipped.csv'} lists the reasons", err=True)
    return dataset_rows(data, split)


def _refuse(accepted: str, option: str, value: object) -> None:
    """Raise if an option was given that has no effect on this input."""
    if value is not None:
        raise click.UsageError(f"{option} goes with {accepted}")


def _names_a_file(name: str) -> bool:
    """Whether an argument is a path and not a SMILES, which may have slashes and dots too."""
    if not name or os.path.isfile(name) or name.lower().endswith((*SUFFIXES, *OTHER_FILES)):
        return bool(name)
    if os.path.isdir(name):  # CC is ethane even if a folder has that name
        return os.path.exists(os.path.join(name, "manifest.json")) or not _is_smiles(name)
    parent = os.path.dirname(name)
    return bool(parent) and os.path.isdir(parent) and not _is_smiles(name)  # a mistyped path


def _is_smiles(text: str) -> bool:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        try:
            return Chem.MolFromSmiles(text) is not None
        except Exception:  # whatever RDKit raises for one molecule
            return False


def _is_checkpoint(name: str) -> bool:
    lower = name.lower()
    if lower.endswith((".ckpt", ".pt")):
        return True
    if os.path.isdir(name):
        return is_run_folder(Path(name))
    if lower.endswith((*SUFFIXES, *OTHER_FILES)):
        return False
    try:
        with open(name, "rb") as file:
            return file.read(2) == b"PK"
    except (OSError, ValueError):
        return False
