"""``grpe fingerprint``: vectors of molecules or graphs from inside a model."""

from pathlib import Path

import click

from grpe_dgl.io.quick_start import quick_start
from grpe_dgl.messages import counted

from ..support.bulk_progress import follow
from ..support.device import choose_device
from ..support.library import LibraryOptions, compute_library, is_folder, library_options
from ..support.output_file import OUTPUTS, check_output
from ..support.predict_inputs import InputOptions, checkpoints_and_inputs, input_options, open_rows
from ..support.terminal import echo


@click.command("fingerprint")
@click.argument("arguments", nargs=-1, required=True, metavar="CKPT INPUT...")
@click.option(
    "--out",
    "output",
    required=True,
    type=click.Path(),
    help="A .csv, .csv.gz, .parquet or .npy file, or a folder of parts.",
)
@click.option(
    "--layers", type=click.IntRange(min=1), help="How many of the last layers.  [default: 3, or all of fewer]"
)
@input_options
@library_options
def fingerprint_command(
    arguments: tuple[str, ...], output: str, layers: int | None, options: InputOptions, library: LibraryOptions
) -> None:
    """Write fingerprints of INPUT with the model in CKPT.

    A fingerprint is the virtual node after each of the last layers, taken before the final norm, each of length 1,
    joined early to late. INPUT is as for `grpe predict`; so are the rows, except that .npy holds the numbers alone,
    with a row of NaN for a molecule that cannot be read.
    """
    checkpoints, inputs = checkpoints_and_inputs(arguments)
    if len(checkpoints) > 1:
        raise click.UsageError(f"{len(checkpoints)} checkpoints; accepted: one")
    out = Path(output)
    if is_folder(output):
        with quick_start():
            from grpe_dgl.inference.bulk import Fingerprint

            fingerprint = Fingerprint(checkpoints[0], str(choose_device(options.device)), layers)
            fingerprint.predictor.require_layers(layers)
        compute_library(inputs, out, fingerprint, options, library)
        return
    library.require_folder()
    check_output(out, force=options.force, suffixes=(*OUTPUTS, ".npy"))

    with quick_start():
        from grpe_dgl.data.tables.rows import unused_names
        from grpe_dgl.inference.bulk import Fingerprint, write_fingerprints
        from grpe_dgl.inference.writers import open_table

        fingerprint = Fingerprint(checkpoints[0], str(choose_device(options.device)), layers)
        fingerprint.predictor.require_layers(layers)
    rows = open_rows(inputs, fingerprint.predictor, options)
    names = [f"fingerprint_{i}" for i in range(fingerprint.width)]
    *numbers, error_column = unused_names([*names, "error"], rows.columns)
    workers = options.choose_workers(rows, fingerprint.device)
    with open_table(out, rows.columns, numbers, error_column, rows.types, replace=options.force) as writer:
        outcome = follow(write_fingerprints(rows, fingerprint, writer, workers=workers), rows, "fingerprint")
    failed = f", {outcome.failed:,} without a fingerprint" if outcome.failed else ""
    echo(f"{counted(outcome.done, rows.noun)}{failed}, {fingerprint.width} numbers each: {out}")
    for reason in outcome.reasons:  # a .npy file has no column for them
        echo(f"  {reason}")
    if outcome.failed > len(outcome.reasons):
        echo(f"  and {outcome.failed - len(outcome.reasons):,} more")
