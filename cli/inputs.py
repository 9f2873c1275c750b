"""What `grpe predict` and `grpe fingerprint` are given: checkpoints, then molecules or graphs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .options import require_file

if TYPE_CHECKING:
    from grpe_dgl.inference import Predictor
    from grpe_dgl.inference.rows import Rows

TABLES = (".csv", ".csv.gz", ".smi", ".smi.gz")
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
    from grpe_dgl.data.workers import cores

    if workers is not None:
        return workers
    return 1 if device.startswith("cuda") else max(1, min(cores(), rows.total // ROWS_PER_WORKER))


def checkpoints_and_inputs(arguments: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Divide the arguments: the first is a checkpoint, and so is every one after it that looks like one."""
    count = 1
    while count < len(arguments) and _is_checkpoint(arguments[count]):
        count += 1
    if count == len(arguments):
        raise click.UsageError("nothing to work on; give a table, a processed dataset, or SMILES after the checkpoint")
    checkpoints = [Path(name) for name in arguments[:count]]
    for path in checkpoints:
        require_file(path)
    return checkpoints, list(arguments[count:])


def open_rows(inputs: list[str], predictor: "Predictor", *, smiles: str, split: str | None, max_nodes: int) -> "Rows":
    """Return the rows of one table, one processed dataset, or SMILES that were typed."""
    from grpe_dgl.data import load
    from grpe_dgl.data.description import Description
    from grpe_dgl.data.table import Table
    from grpe_dgl.errors import InputError
    from grpe_dgl.inference.rows import dataset_rows, smiles_rows, table_rows

    files = [name for name in inputs if Path(name).exists() or name.lower().endswith(TABLES)]
    if files and len(inputs) > 1:
        raise click.UsageError(
            f"{' '.join(inputs)}: accepted: one table, one processed dataset, or any number of SMILES"
        )
    path = Path(inputs[0])
    if files and path.is_dir():
        data = load(path)
        predictor.description.require_same_input(Description.of(data.manifest), what=str(path))
        return dataset_rows(data, split)
    if split is not None:
        raise click.UsageError("--split goes with a processed dataset")
    predictor.require_molecules()
    if not files:
        return smiles_rows(inputs, max_nodes=max_nodes)
    if not path.name.lower().endswith(TABLES):
        raise InputError(
            f"{path}: accepted: a table ({', '.join(TABLES)}), a folder that `grpe preprocess` made, or SMILES"
        )
    return table_rows(Table(path), smiles, max_nodes=max_nodes)


def _is_checkpoint(name: str) -> bool:
    if name.lower().endswith((".ckpt", ".pt")):
        return True
    try:
        with Path(name).open("rb") as file:
            return file.read(2) == b"PK"
    except (OSError, ValueError):
        return False
