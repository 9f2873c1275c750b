"""What `grpe predict` and `grpe fingerprint` are given: checkpoints, then molecules or graphs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from grpe_dgl.inference import Predictor
    from grpe_dgl.inference.rows import RowChunk

TABLES = (".csv", ".csv.gz", ".smi", ".smi.gz")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rows:
    """The rows of an input."""

    columns: list[str]
    total: int
    unit: str
    chunks: "Iterator[RowChunk]"


def input_options(command: Command) -> Command:
    """Add the options that say how inputs are read."""
    for option in (
        click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Read molecules in so "
                     "many processes."),
        click.option("--max-nodes", type=click.IntRange(min=1), default=512, show_default=True,
                     help="Molecules of more atoms get an error instead."),
        click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ..."),
        click.option("--split", help="Of a processed dataset: only this split.  [default: every graph]"),
        click.option("--smiles", default="smiles", show_default=True, help="The table's column of molecules."),
        click.option("--force", is_flag=True, help="Overwrite --out."),
    ):  # fmt: skip
        command = option(command)
    return command


def checkpoints_and_inputs(arguments: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Divide the arguments: the first is a checkpoint, and so is every one after it that looks like one."""
    count = 1
    while count < len(arguments) and _is_checkpoint(arguments[count]):
        count += 1
    if count == len(arguments):
        raise click.UsageError("nothing to work on; give a table, a processed dataset, or SMILES after the checkpoint")
    return [Path(name) for name in arguments[:count]], list(arguments[count:])


def open_rows(
    inputs: list[str], predictor: "Predictor", *, smiles: str, split: str | None, max_nodes: int, workers: int
) -> Rows:
    """Return the rows of one table, one processed dataset, or SMILES that were typed."""
    from grpe_dgl.data import load
    from grpe_dgl.data.description import Description
    from grpe_dgl.data.table import Table
    from grpe_dgl.errors import InputError
    from grpe_dgl.inference.rows import DATASET_COLUMNS, dataset_rows, molecules, table_rows

    files = [name for name in inputs if Path(name).exists() or name.lower().endswith(TABLES)]
    if files and len(inputs) > 1:
        raise click.UsageError(
            f"{' '.join(inputs)}: accepted: one table, one processed dataset, or any number of SMILES"
        )
    path = Path(inputs[0])
    if files and path.is_dir():
        data = load(path)
        predictor.description.require_same_input(Description.of(data.manifest), what=str(path))
        chunks = dataset_rows(data, split)
        return Rows(DATASET_COLUMNS, len(data) if split is None else len(data[split]), "graphs", chunks)
    if split is not None:
        raise click.UsageError("--split goes with a processed dataset")
    predictor.require_molecules()
    if not files:
        chunks = molecules([([text], text) for text in inputs], max_nodes=max_nodes)
        return Rows(["smiles"], len(inputs), "molecules", chunks)
    if not path.name.lower().endswith(TABLES):
        raise InputError(
            f"{path}: accepted: a table ({', '.join(TABLES)}), a folder that `grpe preprocess` made, or SMILES"
        )
    table = Table(path)
    table.place(smiles)
    total = sum(1 for _ in table.rows())  # also finds a broken row before hours of work, not after
    chunks = molecules(table_rows(table, smiles), max_nodes=max_nodes, workers=workers)
    return Rows(table.columns, total, "molecules", chunks)


def _is_checkpoint(name: str) -> bool:
    if name.lower().endswith((".ckpt", ".pt")):
        return True
    try:
        with Path(name).open("rb") as file:
            return file.read(2) == b"PK"
    except (OSError, ValueError):
        return False
