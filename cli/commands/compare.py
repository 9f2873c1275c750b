"""``grpe compare``: finished runs side by side."""

from pathlib import Path

import click

from ..support.output_file import check_output
from ..support.terminal import echo

TABLES = (".md", ".csv", ".json")
PICTURES = (".png", ".svg", ".pdf")


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--out",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Write the table, by the ending: .md, .csv or .json. Repeat it for more.",
)
@click.option(
    "--curves",
    type=click.Path(path_type=Path),
    help="Draw the curves: .png, .svg or .pdf.  [default: beside --out, .png]",
)
@click.option("--force", is_flag=True, help="Overwrite the files of --out and --curves.")
def compare_command(runs: tuple[Path, ...], outputs: tuple[Path, ...], curves: Path | None, force: bool) -> None:
    """Compare finished runs of any recipes in a table.

    RUN is the folder of a run, of an experiment with several seeds and variants, or one that contains such. Runs of
    one model with different seeds are a row. Runs on other data or splits, or with another metric, get a table of their
    own.
    """
    import grpe_dgl

    for path in outputs:
        check_output(path, force=force, suffixes=TABLES)
    if curves is not None:
        check_output(curves, force=force, suffixes=PICTURES, option="--curves")
    elif outputs:
        curves = outputs[0].with_suffix(".png")
        check_output(curves, force=force)
    comparison = grpe_dgl.compare(runs)
    echo(comparison.to_markdown(), nl=False)
    for path in (*outputs, *([curves] if curves is not None else [])):
        comparison.write(path)
        echo(f"written: {path}", err=True)
