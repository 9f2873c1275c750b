"""``grpe predict``: apply one or several models to molecules or graphs."""

import contextlib
import sys
from pathlib import Path

import click

from grpe_dgl.io.quick_start import quick_start
from grpe_dgl.messages import counted

from ..support.bulk_progress import follow
from ..support.device import choose_device
from ..support.library import LibraryOptions, compute_library, is_folder, library_options
from ..support.output_file import OUTPUTS, check_output
from ..support.predict_inputs import InputOptions, checkpoints_and_inputs, input_options, one_run_folder, open_rows
from ..support.terminal import echo, table_stream


@click.command("predict")
@click.argument("arguments", nargs=-1, required=True, metavar="CKPT [CKPT...] INPUT...")
@click.option(
    "--out",
    "output",
    type=click.Path(),
    help="A .csv, .csv.gz or .parquet file, or a folder of parts.  [default: CSV on standard output]",
)
@click.option(
    "--interval",
    type=float,
    metavar="LEVEL",
    help="Add intervals, or for classes calibrated probabilities and sets, that hold with this probability: 0.9.",
)
@click.option(
    "--domain",
    is_flag=True,
    help="Add the similarity to the nearest training molecule, and whether elements, size and charge were seen.",
)
@input_options
@library_options
def predict_command(
    arguments: tuple[str, ...],
    output: str | None,
    interval: float | None,
    domain: bool,
    options: InputOptions,
    library: LibraryOptions,
) -> None:
    """Predict INPUT with the model in CKPT, or the mean of several.

    CKPT is a checkpoint or the folder of a finished run, which stands for all of its models: seeds or folds.
    INPUT is a table of molecules (.csv, .tsv, .txt, .smi or .sdf, also with .gz, .parquet or .xlsx), a folder that
    `grpe preprocess` made, or SMILES. Every row keeps its columns and gets predictions: numbers in the target's own
    unit, or probabilities. A molecule that cannot be read gets none, and the reason in the column `error`.

    With a folder as --out, INPUT is any number of tables or folders of tables, and the output is a folder of parts of
    50,000 rows; the same command again makes only the parts that are missing.
    """
    checkpoints, inputs = checkpoints_and_inputs(arguments)
    out = None if output is None else Path(output)
    run_folder = None
    if interval is not None:
        if not 0 < interval < 1:
            raise click.BadParameter(f"{interval:g}; accepted: between 0 and 1, such as 0.9", param_hint="--interval")
        run_folder = one_run_folder(arguments, inputs)
    if out is not None and is_folder(output):
        with quick_start():
            from grpe_dgl.inference.bulk import Prediction

            device = str(choose_device(options.device))
            prediction = Prediction(tuple(checkpoints), device, interval, run_folder, domain)
        compute_library(inputs, out, prediction, options, library)
        return
    library.require_folder()
    if out is not None:
        check_output(out, force=options.force, suffixes=OUTPUTS)
    elif options.force:
        raise click.UsageError("--force goes with --out")

    with quick_start():
        from grpe_dgl.data.tables.rows import unused_names
        from grpe_dgl.inference.bulk import Prediction, write_predictions
        from grpe_dgl.inference.writers import CSVWriter, Writer, open_table

        device = str(choose_device(options.device))
        prediction = Prediction(tuple(checkpoints), device, interval, run_folder, domain=domain)
        ensemble = prediction.ensemble
    if interval is not None and ensemble.calibration is not None and ensemble.calibration.note is not None:
        echo(f"--interval: {ensemble.calibration.note}", err=True)
    if prediction.comparison is not None:  # raises if a model does not record its training molecules
        echo(prediction.comparison.describe(), err=True)
    rows = open_rows(inputs, ensemble.members[0], options)
    added = unused_names([*ensemble.text_columns, *prediction.number_columns, "error"], rows.columns)
    num_texts = len(ensemble.text_columns)
    texts, numbers, error_column = rows.columns + added[:num_texts], added[num_texts:-1], added[-1]

    def types() -> list[str]:
        return [*rows.types(), *("int64" if name == "node" else "string" for name in ensemble.text_columns)]

    with contextlib.ExitStack() as stack:
        if out is None:
            writer: Writer = CSVWriter(table_stream(), texts, numbers, error_column)
        else:
            writer = stack.enter_context(open_table(out, texts, numbers, error_column, types, replace=options.force))
        workers = options.choose_workers(rows, prediction.device)
        outcome = follow(write_predictions(rows, prediction, writer, workers=workers), rows, "predict")
        sys.stdout.flush()  # so that a full disk is an error of this command
    failed = f", {outcome.failed:,} without a prediction (reasons in the column {error_column})"
    summary = f"{counted(outcome.done, rows.noun)}{failed if outcome.failed else ''}"
    if out is not None:
        echo(f"{summary}: {out}")
    elif outcome.failed:
        echo(summary, err=True)
