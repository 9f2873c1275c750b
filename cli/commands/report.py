"""``grpe report``: a page about finished runs."""

from pathlib import Path

import click

from ..support.output_file import check_output
from ..support.terminal import echo

ENDINGS = (".html", ".htm")


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The page: a name that ends in .html.")
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="Folder of the processed dataset, for molecules and sizes.  [default: where the run found it]",
)
@click.option("--force", is_flag=True, help="Overwrite the file of --out.")
def report_command(runs: tuple[Path, ...], out: Path, dataset: Path | None, force: bool) -> None:
    """Write a page about finished runs: charts, molecules, numbers.

    RUN is the folder of a run, of an experiment with several seeds and variants, or one that contains such; several are
    shown side by side. The page is one file that any browser opens without a network.
    """
    from grpe_dgl.data.store.manifest import Manifest
    from grpe_dgl.workflows.report import report

    check_output(out, force=force, suffixes=ENDINGS)
    if dataset is not None:
        Manifest.read(dataset)  # a wrong folder is an error, not a page without molecules
    page = report(runs, out, dataset=dataset)
    echo(f"written: {out} ({len(page.encode()) / 1e6:.1f} MB)")
