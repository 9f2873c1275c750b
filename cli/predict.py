"""``grpe predict``: apply one or several models to molecules or graphs."""

import contextlib
import sys
from pathlib import Path

import click

from .inputs import checkpoints_and_inputs, input_options, open_rows
from .output import check_output
from .progress import progress


@click.command("predict")
@click.argument("arguments", nargs=-1, required=True, metavar="CKPT [CKPT...] INPUT...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A .csv, .csv.gz or .parquet file.  [default: CSV on standard output]",
)
@input_options
def predict_command(
    arguments: tuple[str, ...],
    out: Path | None,
    force: bool,
    smiles: str,
    split: str | None,
    device: str,
    max_nodes: int,
    workers: int,
) -> None:
    """Predict INPUT with the model in CKPT, or with the mean of several.

    INPUT is a table of molecules (.csv, .csv.gz, .smi, .smi.gz), a folder that `grpe preprocess` made, or SMILES. Every
    row keeps its columns and gets predictions: numbers in the target's own unit, or probabilities. A molecule that
    cannot be read gets none, and the reason in the column `error`.
    """
    from grpe_dgl.inference import load
    from grpe_dgl.inference.ensemble import Ensemble
    from grpe_dgl.inference.output import TABLES, CSVWriter, Writer, open_table
    from grpe_dgl.inference.rows import unused_names

    from .conduct import choose_device

    checkpoints, inputs = checkpoints_and_inputs(arguments)
    if out is not None:
        check_output(out, force=force, suffixes=TABLES)
    target = choose_device(device)
    ensemble = Ensemble([load(path, device=target) for path in checkpoints])
    rows = open_rows(inputs, ensemble.members[0], smiles=smiles, split=split, max_nodes=max_nodes, workers=workers)
    ours = unused_names([*ensemble.text_columns, *ensemble.number_columns, "error"], rows.columns)
    texts, numbers = rows.columns + ours[: len(ensemble.text_columns)], ours[len(ensemble.text_columns) : -1]
    done = unreadable = 0
    with contextlib.ExitStack() as stack:
        more = stack.enter_context(progress("predict", rows.total, rows.unit))
        if out is None:
            writer: Writer = CSVWriter(sys.stdout, texts, numbers, ours[-1])
        else:
            writer = stack.enter_context(open_table(out, texts, numbers, ours[-1]))
        for count, without in ensemble.write(rows.chunks, writer):
            done, unreadable = done + count, unreadable + without
            more(count)
    skipped = f", {unreadable:,} without a prediction (column {ours[-1]} says why)" if unreadable else ""
    if out is not None:
        click.echo(f"{done:,} {rows.unit}{skipped}: {out}")
    elif unreadable:
        click.echo(f"{done:,} {rows.unit}{skipped}", err=True)
