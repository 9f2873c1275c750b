"""``grpe fingerprint``: vectors of molecules or graphs from inside a model."""

from pathlib import Path

import click

from .inputs import checkpoints_and_inputs, input_options, open_rows
from .output import check_output
from .progress import progress


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
    workers: int,
) -> None:
    """Write fingerprints of INPUT: the virtual node after each of the last layers of the model in CKPT.

    Taken before the final norm, each of length 1, joined early to late. INPUT is as for `grpe predict`; so are the
    rows, except that .npy holds the numbers alone, with a row of NaN for a molecule that cannot be read.
    """
    from grpe_dgl.inference import load
    from grpe_dgl.inference.fingerprint import write_fingerprints
    from grpe_dgl.inference.output import TABLES, open_table
    from grpe_dgl.inference.rows import unused_names

    from .conduct import choose_device

    checkpoints, inputs = checkpoints_and_inputs(arguments)
    if len(checkpoints) > 1:
        raise click.UsageError(f"{len(checkpoints)} checkpoints; accepted: one")
    check_output(out, force=force, suffixes=(*TABLES, ".npy"))
    predictor = load(checkpoints[0], device=choose_device(device))
    predictor.require_layers(layers)
    rows = open_rows(inputs, predictor, smiles=smiles, split=split, max_nodes=max_nodes, workers=workers)
    width = layers * predictor.checkpoint.recipe.model.hidden_size
    *numbers, error = unused_names([*(f"fingerprint_{i}" for i in range(width)), "error"], rows.columns)
    done = 0
    unreadable: list[tuple[int, str]] = []
    with (
        progress("fingerprint", rows.total, rows.unit) as more,
        open_table(out, rows.columns, numbers, error) as writer,
    ):
        for count, errors in write_fingerprints(predictor, rows.chunks, writer, layers=layers):
            unreadable += [(done + place, reason) for place, reason in errors]
            done += count
            more(count)
    skipped = f", {len(unreadable):,} without a fingerprint" if unreadable else ""
    click.echo(f"{done:,} {rows.unit}{skipped}, {width} numbers each: {out}")
    for row, reason in unreadable[:10]:
        click.echo(f"  row {row}: {reason}")
    if len(unreadable) > 10:
        click.echo(f"  and {len(unreadable) - 10:,} more")
