"""``grpe fingerprint``: vectors of molecules or graphs from inside a model."""

from pathlib import Path

import click

from grpe_dgl.messages import counted

from ..support.device import choose_device
from ..support.output_file import OUTPUTS, check_output
from ..support.predict_inputs import checkpoints_and_inputs, choose_workers, input_options, open_rows
from ..support.progress import progress

SHOWN = 10  # rows without a fingerprint that are told on the screen: a .npy file has no column for the reason


@click.command("fingerprint")
@click.argument("arguments", nargs=-1, required=True, metavar="CKPT INPUT...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .csv, .csv.gz, .parquet or .npy file.")
@click.option("--layers", type=click.IntRange(min=1), default=3, show_default=True, help="How many of the last layers.")
@input_options
def fingerprint_command(
    arguments: tuple[str, ...],
    out: Path,
    layers: int,
    force: bool,
    smiles: str,
    split: str | None,
    device: str,
    max_nodes: int,
    workers: int | None,
) -> None:
    """Write fingerprints of INPUT with the model in CKPT.

    A fingerprint is the virtual node after each of the last layers, taken before the final norm, each of length 1,
    joined early to late. INPUT is as for `grpe predict`; so are the rows, except that .npy holds the numbers alone,
    with a row of NaN for a molecule that cannot be read.
    """
    checkpoints, inputs = checkpoints_and_inputs(arguments)
    if len(checkpoints) > 1:
        raise click.UsageError(f"{len(checkpoints)} checkpoints; accepted: one")
    check_output(out, force=force, suffixes=(*OUTPUTS, ".npy"))

    from grpe_dgl.inference.bulk import Fingerprint, write_fingerprints
    from grpe_dgl.inference.writers import open_table, unused_names

    fingerprint = Fingerprint(checkpoints[0], str(choose_device(device)), layers)
    fingerprint.predictor.require_layers(layers)
    rows = open_rows(inputs, fingerprint.predictor, smiles=smiles, split=split, max_nodes=max_nodes)
    names = [f"fingerprint_{i}" for i in range(fingerprint.width)]
    *numbers, error_column = unused_names([*names, "error"], rows.columns)
    done = unreadable = 0
    shown: list[str] = []
    with (
        progress("fingerprint", rows.total, f"{rows.noun}s") as more,
        open_table(out, rows.columns, numbers, error_column) as writer,
    ):
        processes = choose_workers(workers, rows, fingerprint.device)
        for errors in write_fingerprints(rows, fingerprint, writer, workers=processes):
            reasons = [(done + place, error) for place, error in enumerate(errors) if error is not None]
            shown += [f"  row {row}: {reason}" for row, reason in reasons[: SHOWN - len(shown)]]
            unreadable += len(reasons)
            done += len(errors)
            more(len(errors))
    skipped = f", {unreadable:,} without a fingerprint" if unreadable else ""
    click.echo(f"{counted(done, rows.noun)}{skipped}, {fingerprint.width} numbers each: {out}")
    for line in shown:
        click.echo(line)
    if unreadable > len(shown):
        click.echo(f"  and {unreadable - len(shown):,} more")
