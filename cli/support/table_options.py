"""The options of a table of molecules, and the request they make: `grpe preprocess csv` and `grpe fit`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.errors import InputError

from .hints import note_with_hint
from .options import InputFile, options_as
from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.data.sources.csv import CSVRequest


class _Fractions(click.ParamType):
    """Three fractions with commas between them."""

    name = "F,F,F"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the three as a tuple."""
        if isinstance(value, tuple):
            return value
        from grpe_dgl.data.splits import check_fractions

        try:
            return check_fractions([float(part) for part in str(value).split(",")])
        except InputError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f"{value!r}; accepted: train,valid,test, such as 0.8,0.1,0.1", param, ctx)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which columns of a table are molecules and targets, and how its rows are divided."""

    smiles: str | None
    sheet: str | None
    targets: tuple[str, ...]
    decimal: str
    thousands: str | None
    bad_labels: str
    task: str | None
    positive: tuple[str, ...]
    split: str | None
    split_column: str | None
    train_rows: Path | None
    valid_rows: Path | None
    test_rows: Path | None
    fractions: tuple[float, ...]
    weight_column: str | None
    standardise: bool
    max_nodes: int
    name: str | None

    def request(self, file: Path, seed: int, listing_folder: Path = Path()) -> "CSVRequest":
        """Return the request for a dataset of `file`.

        Parameters
        ----------
        file
            The table.
        seed
            Seed of the random split.
        listing_folder
            Where the list of labels that cannot be used is written, if there are any.
        """
        from grpe_dgl.data.sources.csv import CSVRequest
        from grpe_dgl.data.tables.number_format import NumberFormat

        files = {"train": self.train_rows, "valid": self.valid_rows, "test": self.test_rows}
        split_files = {split: rows for split, rows in files.items() if rows is not None}
        name = self.name or file.name.split(".")[0]
        if Path(name).name != name:
            raise click.BadParameter(f"{name!r}; accepted: the name of a folder", param_hint="--name")
        return CSVRequest(
            file=file,
            sheet=self.sheet,
            smiles=self.smiles,
            targets=tuple(target.strip() or target for target in self.targets),
            numbers=NumberFormat(self.decimal, self.thousands),
            bad_labels=self.bad_labels,
            bad_labels_file=listing_folder / f"{name}_bad_labels.csv",
            task=self.task,
            positive=self.positive,
            split=self.split or ("column" if self.split_column else "index" if split_files else "random"),
            split_column=self.split_column,
            split_files=split_files,
            fractions=self.fractions,
            seed=seed,
            weight_column=self.weight_column,
            standardise=self.standardise,
            max_nodes=self.max_nodes,
            name=name,
        )


table_options = options_as(
    TableOptions,
    (
        click.option("--smiles",
                     help="The column of the molecules.  [default: smiles, SMILES, canonical_smiles, ...]"),
        click.option("--sheet", help="Of an Excel workbook.  [default: the first with a column of SMILES]"),
        click.option("--target", "targets", multiple=True, required=True,
                     help="A column to predict; repeat it for more. A blank cell is a missing label, as is NA or "
                     "null."),
        click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True,
                     help="Decimal separator."),
        click.option("--thousands", type=click.Choice([".", ","]),
                     help="Separator of thousands, where 1,234 is 1234."),
        click.option("--bad-labels", type=click.Choice(["refuse", "missing"]), default="refuse", show_default=True,
                     help="What to do with labels such as '<10' or '5 nM': stop and list them, or take them for "
                     "missing labels."),
        click.option("--task", type=click.Choice(["regression", "classification"]),
                     help="What the targets are.  [default: inferred and printed]"),
        click.option("--positive", multiple=True, metavar="CLASS", help="Of two classes, the positive one; repeat it "
                     "for more targets.  [default: yes, active, ..., or the last]"),
        click.option("--split", type=click.Choice(["random", "scaffold", "column", "index"]),
                     help="How rows are divided.  [default: random, or what --split-column or --train-rows imply]"),
        click.option("--split-column", help="The column that holds train, valid or test."),
        click.option("--train-rows", type=InputFile(),
                     help="File of row numbers for train, one a line, counted from 0."),
        click.option("--valid-rows", type=InputFile(), help="The same for valid."),
        click.option("--test-rows", type=InputFile(), help="The same for test."),
        click.option("--fractions", type=_Fractions(), default="0.8,0.1,0.1", show_default=True,
                     help="Train,valid,test."),
        click.option("--weight-column", help="The column of the rows' weights in the training loss."),
        click.option("--standardise", is_flag=True, help="Reduce molecules to their largest fragment, without charges "
                     "where possible; the model keeps this and predicts so."),
        click.option("--max-nodes", type=click.IntRange(min=1), default=512, show_default=True,
                     help="Skip molecules of more atoms."),
        click.option("--name", help="The dataset's name.  [default: the file's name]"),
    ),
    argument="table",
)  # fmt: skip


def show_table_notes(folder: Path, notes: list[str], *, splits: bool = True) -> None:
    """Print what a user should know of a new dataset: `notes`, its labels and, with `splits`, its splits and unit."""
    from grpe_dgl.data.label_notes import label_notes
    from grpe_dgl.data.split_warnings import split_warnings
    from grpe_dgl.data.store.store import Store

    store = Store(folder)
    for note in (*notes, *(split_warnings(store) if splits else ()), *label_notes(store)):
        echo(note_with_hint(note))
    if splits and store.schema.target_scale is not None:
        for target, mean, deviation in zip(store.schema.task.targets, *store.schema.target_scale, strict=True):
            echo(f"{target}: standardised for training, mean {mean:.4g}, deviation {deviation:.4g} (train)")
