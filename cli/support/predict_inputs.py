"""What `grpe predict` and `grpe fingerprint` are given: checkpoints, then molecules or graphs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grpe_dgl.data.tables.table import SUFFIXES, is_table

from .options import require_file

if TYPE_CHECKING:
    from grpe_dgl.inference import Predictor
    from grpe_dgl.inference.inputs import Rows

OTHER_FILES = (".tsv", ".txt", ".xlsx", ".sdf", ".mol", ".json", ".parquet", ".npy", ".zip")  # which no SMILES ends in
ROWS_PER_WORKER = 5_000  # fewer are done before another process has started
Command = TypeVar("Command", bound=Callable[..., Any])


def input_options(command: Command) -> Command:
    """Add the options that say how inputs are read."""
    for option in (
        click.option("--workers", type=click.IntRange(min=1), help="Processes, each with the model.  "
                     f"[default: one for every {ROWS_PER_WORKER:,} rows, up to one per core; one with CUDA]"),
        click.option("--max-nodes", type=click.IntRange(min=1), default=512, show_default=True,
                     help="Molecules of more atoms get an error instead."),
        click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ..."),
        click.option("--split", help="Of a processed dataset: only this split.  [default: every graph]"),
        click.option("--smiles", default="smiles", show_default=True, help="The table's column of molecules."),
        click.option("--force", is_flag=True, help="Overwrite --out."),
    ):  # fmt: skip
        command = option(command)
    return command


def choose_workers(workers: int | None, rows: "Rows", device: str) -> int:
    """Return how many processes to use: as many as asked for, else as many as help."""
    from grpe_dgl.io.workers import cores

    if workers is not None:
        return workers
    return 1 if device.startswith("cuda") else max(1, min(cores(), rows.total // ROWS_PER_WORKER))


def checkpoints_and_inputs(arguments: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Divide the arguments: the first is a checkpoint, and so is every one after it that looks like one."""
    count = 1
    while count < len(arguments) and _is_checkpoint(arguments[count]):
        count += 1
    if is_table(arguments[0]) and any(map(_is_checkpoint, arguments[1:])):
        raise click.UsageError(f"{' '.join(arguments)}: the checkpoint comes first, then what to work on")
    if count == len(arguments):
        raise click.UsageError("nothing to work on; give a table, a processed dataset, or SMILES after the checkpoint")
    checkpoints = [Path(name) for name in arguments[:count]]
    for path in checkpoints:
        require_file(path)
    inputs = list(arguments[count:])
    if len(inputs) == 1 and is_table(inputs[0]):
        require_file(Path(inputs[0]))
    return checkpoints, inputs


def open_rows(inputs: list[str], predictor: "Predictor", *, smiles: str, split: str | None, max_nodes: int) -> "Rows":
    """Return the rows of one table, one processed dataset, or SMILES that were typed."""
    from grpe_dgl.data import load
    from grpe_dgl.data.tables.table import Table
    from grpe_dgl.errors import InputError
    from grpe_dgl.inference.inputs import dataset_rows, smiles_rows, table_rows

    files = [name for name in inputs if _names_a_file(name)]
    if files and len(inputs) > 1:
        raise click.UsageError(
            f"{' '.join(inputs)}: accepted: one table, one processed dataset, or any number of SMILES"
        )
    path = Path(inputs[0])
    if files and path.is_dir():
        data = load(path)
        predictor.schema.require_same_input(data.schema, what=str(path), model=predictor.source)
        if data.manifest.num_skipped:
            skipped = f"{data.manifest.num_skipped:,} rows of its source have no graph"
            click.echo(f"{path}: {skipped}; {path / 'skipped.csv'} says why", err=True)
        return dataset_rows(data, split)
    if split is not None:
        raise click.UsageError("--split goes with a processed dataset")
    predictor.require_molecules()
    if not files:
        return smiles_rows(inputs, max_nodes=max_nodes)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder, and it is not a SMILES")
    if not is_table(path.name):
        raise InputError(
            f"{path}: accepted: a table ({', '.join(SUFFIXES)}), a folder that `grpe preprocess` made, or SMILES"
        )
    return table_rows(Table(path), smiles, max_nodes=max_nodes)


def _names_a_file(name: str) -> bool:
    """Tell a file or folder from a SMILES, which may have slashes and dots too."""
    if not name or os.path.isfile(name) or name.lower().endswith((*SUFFIXES, *OTHER_FILES)):
        return bool(name)
    if os.path.isdir(name):  # a folder called CC is not what is meant by CC
        return os.path.exists(os.path.join(name, "manifest.json")) or not _is_smiles(name)
    parent = os.path.dirname(name)
    return bool(parent) and os.path.isdir(parent) and not _is_smiles(name)  # a path with a mistake in it


def _is_smiles(text: str) -> bool:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        return Chem.MolFromSmiles(text) is not None


def _is_checkpoint(name: str) -> bool:
    lower = name.lower()
    if lower.endswith((".ckpt", ".pt")):
        return True
    if lower.endswith((*SUFFIXES, *OTHER_FILES)):
        return False
    try:
        with open(name, "rb") as file:
            return file.read(2) == b"PK"
    except (OSError, ValueError):
        return False
