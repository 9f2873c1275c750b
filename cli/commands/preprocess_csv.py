"""``grpe preprocess csv``: make a dataset of your own table of molecules."""

from pathlib import Path
from typing import Any

import click

from ..support.make_dataset import make_dataset
from ..support.make_encodings import make_encodings
from ..support.options import InputFile
from ..support.table_options import TableOptions, show_table_notes, table_options
from .preprocess import dataset_options


@click.command("csv")
@click.argument("file", type=InputFile())
@table_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random split.")
@dataset_options
def csv_command(
    file: Path,
    table: TableOptions,
    seed: int,
    data: Path,
    workers: int,
    encodings: tuple[str, ...],
    strict: bool,
    force: bool,
) -> None:
    """Make a dataset of FILE, a table of molecules.

    FILE is .csv, .tsv, .txt, .smi or .sdf, each also with .gz, .parquet or .xlsx. Separators, encoding and compression
    are detected.
    """
    from grpe_dgl.data.sources.csv import csv_source

    request = table.request(file, seed, listing_folder=data)
    notes: list[str] = []

    def make() -> Any:
        nonlocal notes
        source, notes = csv_source(request)
        return source

    folder = data / request.dataset
    manifest = make_dataset(folder, request.settings(), make, workers=workers, strict=strict, force=force)
    make_encodings(folder, encodings, workers=workers)
    if manifest is not None:
        show_table_notes(folder, notes)
