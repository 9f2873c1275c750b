"""``grpe predict``: apply one or several models to molecules or graphs."""

import contextlib
import sys
from pathlib import Path

import click

from grpe_dgl.messages import counted

from ..support.device import choose_device
from ..support.output_file import OUTPUTS, check_output
from ..support.predict_inputs import checkpoints_and_inputs, choose_workers, input_options, open_rows
from ..support.progress import progress


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
    workers: int | None,
) -> None:
    """Predict INPUT with the model in CKPT, or the mean of several.

    INPUT is a table of molecules (.csv, .csv.gz, .smi, .smi.gz), a folder that `grpe preprocess` made, or SMILES. Every
    row keeps its columns and gets predictions: numbers in the target's own unit, or probabilities. A molecule that
    cannot be read gets none, and the reason in the column `error`.
    """
    checkpoints, inputs = checkpoints_and_inputs(arguments)
    if out is not None:
        check_output(out, force=force, suffixes=OUTPUTS)

    from grpe_dgl.inference.bulk import Prediction, write_predictions
    from grpe_dgl.inference.writers import CSVWriter, Writer, open_table, unused_names

    prediction = Prediction(tuple(checkpoints), str(choose_device(device)))
    ensemble = prediction.ensemble
    rows = open_rows(inputs, ensemble.members[0], smiles=smiles, split=split, max_nodes=max_nodes)
    ours = unused_names([*ensemble.text_columns, *ensemble.number_columns, "error"], rows.columns)
    texts, numbers = rows.columns + ours[: len(ensemble.text_columns)], ours[len(ensemble.text_columns) : -1]
    done = unreadable = 0
    with contextlib.ExitStack() as stack:
        more = stack.enter_context(progress("predict", rows.total, f"{rows.noun}s"))
        if out is None:
            writer: Writer = CSVWriter(sys.stdout, texts, numbers, ours[-1])
        else:
            writer = stack.enter_context(open_table(out, texts, numbers, ours[-1]))
        processes = choose_workers(workers, rows, prediction.device)
        for errors in write_predictions(rows, prediction, writer, workers=processes):
            done += len(errors)
            unreadable += sum(error is not None for error in errors)
            more(len(errors))
        sys.stdout.flush()  # here, where a full disk is told as such
    skipped = f", {unreadable:,} without a prediction (column {ours[-1]} says why)" if unreadable else ""
    if out is not None:
        click.echo(f"{counted(done, rows.noun)}{skipped}: {out}")
    elif unreadable:
        click.echo(f"{counted(done, rows.noun)}{skipped}", err=True)
