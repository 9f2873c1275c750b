"""``grpe export``: write a model as files that run without DGL."""

from pathlib import Path

import click

from ..support.options import CheckpointFile
from ..support.terminal import echo


@click.command("export")
@click.argument("checkpoint", type=CheckpointFile(), metavar="CKPT")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["onnx", "pt2"]),
    default=("onnx",),
    show_default=True,
    help="ONNX, or torch.export's .pt2; repeat it for both.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--force", is_flag=True, help="Replace an existing export.")
def export_command(checkpoint: Path, formats: tuple[str, ...], out: Path, force: bool) -> None:
    """Write the model in CKPT as ONNX or torch.export files.

    model.json beside them describes their inputs and outputs. The files are compared with the model on random graphs of
    several sizes before they are put in place.
    """
    from grpe_dgl.checkpoint.file import load_checkpoint
    from grpe_dgl.export import export
    from grpe_dgl.export.write import CONTRACT, FORMATS, OPSET

    echo(f"{checkpoint}: tracing, writing and comparing; takes half a minute for a small model", err=True)
    differences = export(load_checkpoint(checkpoint), out, formats, force=force)
    for name, difference in differences.items():
        opset = f", opset {OPSET}" if name == "onnx" else ""
        how = (
            f"differs from the model by at most {difference:.1e} (relative)"
            if difference
            else "equals the model, to rounding,"
        )
        echo(f"{out / FORMATS[name]}: dynamic batch and nodes{opset}; {how} on random graphs")
    echo(f"{out / CONTRACT}: inputs, relations, vocabulary and task")
