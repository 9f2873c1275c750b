"""``grpe import``: convert the authors' weights to a checkpoint."""

from pathlib import Path

import click

from ..support.options import InputFile
from ..support.output_file import check_output
from ..support.terminal import echo


@click.command("import")
@click.argument("file", type=InputFile(), metavar="FILE")
@click.option("--heads", required=True, type=click.IntRange(min=1), help="Attention heads, which FILE does not store.")
@click.option("--dataset", required=True, help="What the model was trained on: a name that `grpe datasets` lists.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The checkpoint to write.")
@click.option("--force", is_flag=True, help="Overwrite --out.")
def import_command(file: Path, heads: int, dataset: str, out: Path, force: bool) -> None:
    """Convert FILE, weights of GRPE's authors, to a checkpoint."""
    from grpe_dgl.official.checkpoint import import_file

    check_output(out, force=force)
    checkpoint, imported = import_file(file, num_heads=heads, dataset=dataset)
    checkpoint.save(out)
    parameters = sum(parameter.numel() for parameter in imported.model.parameters())
    echo(f"{checkpoint.recipe.model.describe()}: {parameters:,} parameters")
    if imported.zero_started:
        echo(f"initialised to zero, as the file has no row for them ({len(imported.zero_started)}):")
        for what in imported.zero_started:
            echo(f"  {what}")
    echo(f"written: {out}")
