"""``grpe preprocess csv``: make a dataset of your own table of molecules."""

from pathlib import Path
from typing import Any

import click

from ..support.errors import HINTS
from ..support.make_dataset import make_dataset
from ..support.make_encodings import make_encodings
from ..support.options import InputFile
from ..support.terminal import echo
from .preprocess import dataset_options


class _Fractions(click.ParamType):
    """Three fractions with commas between them."""

    name = "F,F,F"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the three as a tuple."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r}; accepted: train,valid,test, such as 0.8,0.1,0.1", param, ctx)


@click.command("csv")
@click.argument("file", type=InputFile())
@click.option("--smiles", help="The column of the molecules.  [default: smiles, SMILES, canonical_smiles, ...]")
@click.option("--sheet", help="Of an Excel workbook.  [default: the first with a column of SMILES]")
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    help="A column to predict; repeat it for more. A blank cell is a missing label, as is NA or null.",
)
@click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Decimal separator.")
@click.option("--thousands", type=click.Choice([".", ","]), help="Separator of thousands, where 1,234 is 1234.")
@click.option(
    "--bad-labels",
    type=click.Choice(["refuse", "missing"]),
    default="refuse",
    show_default=True,
    help="What to do with labels such as '<10' or '5 nM': stop and list them, or take them for missing labels.",
)
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="What the targets are.  [default: inferred and printed]",
)
@click.option(
    "--positive",
    multiple=True,
    metavar="CLASS",
    help="Of two classes, the positive one; repeat it for more targets.  [default: yes, active, ..., or the last]",
)
@click.option(
    "--split",
    type=click.Choice(["random", "scaffold", "column", "index"]),
    help="How rows are divided.  [default: random, or what --split-column or --train-rows imply]",
)
@click.option("--split-column", help="The column that holds train, valid or test.")
@click.option("--train-rows", type=InputFile(), help="File of row numbers for train, one a line, counted from 0.")
@click.option("--valid-rows", type=InputFile(), help="The same for valid.")
@click.option("--test-rows", type=InputFile(), help="The same for test.")
@click.option("--fractions", type=_Fractions(), default="0.8,0.1,0.1", show_default=True, help="Train,valid,test.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random split.")
@click.option(
    "--max-nodes",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="Skip molecules of more atoms.",
)
@click.option("--name", help="The dataset's name.  [default: the file's name]")
@dataset_options
def csv_command(
    file: Path,
    smiles: str | None,
    sheet: str | None,
    targets: tuple[str, ...],
    decimal: str,
    thousands: str | None,
    bad_labels: str,
    task: str | None,
    positive: tuple[str, ...],
    split: str | None,
    split_column: str | None,
    train_rows: Path | None,
    valid_rows: Path | None,
    test_rows: Path | None,
    fractions: tuple[float, ...],
    seed: int,
    max_nodes: int,
    name: str | None,
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
    from grpe_dgl.data.label_notes import label_notes
    from grpe_dgl.data.sources.csv import CSVRequest, csv_source
    from grpe_dgl.data.split_warnings import split_warnings
    from grpe_dgl.data.store.store import Store
    from grpe_dgl.data.tables.number_format import NumberFormat

    files = {"train": train_rows, "valid": valid_rows, "test": test_rows}
    split_files = {split: rows for split, rows in files.items() if rows is not None}
    called = name or file.name.split(".")[0]
    if Path(called).name != called:
        raise click.BadParameter(f"{called!r}; accepted: the name of a folder", param_hint="--name")
    request = CSVRequest(
        file=file,
        smiles=smiles,
        sheet=sheet,
        targets=tuple(target.strip() or target for target in targets),
        numbers=NumberFormat(decimal, thousands),
        bad_labels=bad_labels,
        bad_labels_file=data / f"{called}_bad_labels.csv",
        task=task,
        positive=positive,
        split=split or ("column" if split_column else "index" if split_files else "random"),
        split_column=split_column,
        split_files=split_files,
        fractions=fractions,
        seed=seed,
        max_nodes=max_nodes,
        name=called,
    )
    notes: list[str] = []

    def make() -> Any:
        nonlocal notes
        source, notes = csv_source(request)
        return source

    folder = data / request.dataset
    manifest = make_dataset(folder, request.settings(), make, workers=workers, strict=strict, force=force)
    make_encodings(folder, encodings, workers=workers)
    if manifest is None:
        return
    store = Store(folder)
    for note in (*notes, *split_warnings(store), *label_notes(store)):
        hint = getattr(note, "hint", None)
        echo(note if hint is None else f"{note}; {HINTS[hint]}")
    if manifest.schema.target_scale is not None:
        for target, mean, deviation in zip(manifest.schema.task.targets, *manifest.schema.target_scale, strict=True):
            echo(f"{target}: standardised for training, mean {mean:.4g}, deviation {deviation:.4g} (train)")
