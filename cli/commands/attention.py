"""``grpe attention``: which nodes attend to which, as maps of one graph or as means over a split."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.messages import counted

from ..support.make_encodings import make_encodings
from ..support.options import CheckpointFile, data_option, raw_dir_option
from ..support.output_file import check_output
from ..support.progress import progress_so_far
from ..support.resolve_dataset import dataset_of_checkpoint, find_dataset
from ..support.terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.checkpoint.file import Checkpoint
    from grpe_dgl.explain.attention_figure import Subject
    from grpe_dgl.explain.summary import AttentionSummary

PICTURES, TABLES = (".html", ".png", ".svg"), (".csv", ".json", ".png", ".svg")


@click.command("attention")
@click.argument("checkpoint", type=CheckpointFile(), metavar="CKPT")
@click.argument("smiles", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), help="A .html, .png or .svg file; of a summary also .csv, .json."
)
@click.option("--dataset", help="Of a graph of this dataset: a name inside --data or a folder.")
@click.option("--index", type=click.IntRange(min=0), help="The graph's number: in --split, or in the dataset.")
@click.option("--split", help="train, valid, test, ...  [default of --summary: valid]")
@click.option("--heads", is_flag=True, help="Show the map of every head.")
@click.option("--summary", is_flag=True, help="Mean attention by distance, and to the virtual node, over a split.")
@data_option
@raw_dir_option
@click.option("--force", is_flag=True, help="Overwrite --out.")
def attention_command(
    checkpoint: Path,
    smiles: str | None,
    out: Path | None,
    dataset: str | None,
    index: int | None,
    split: str | None,
    heads: bool,
    summary: bool,
    data: Path,
    raw_dir: Path | None,
    force: bool,
) -> None:
    """Show the attention to atoms of SMILES in the model CKPT.

    The picture has the adjacency matrix, the map of every layer (mean over heads, virtual node first), and the molecule
    with its atoms coloured by how much the virtual node attends to them. --dataset and --index show a graph of a
    dataset instead, --summary the mean over a split.
    """
    if summary:
        if smiles is not None or index is not None or heads:
            raise click.UsageError("--summary goes with neither SMILES, --index nor --heads")
        if out is not None:
            check_output(out, force=force, suffixes=TABLES)
    else:
        if (smiles is None) == (index is None):
            raise click.UsageError("give SMILES, or --index with --dataset, or --summary")
        if smiles is not None and (dataset is not None or split is not None):
            raise click.UsageError("--dataset and --split go with --index or --summary, not with SMILES")
        if out is None:
            raise click.UsageError("--out is missing: a .html, .png or .svg file")
        check_output(out, force=force, suffixes=PICTURES)

    from grpe_dgl.checkpoint.file import load_checkpoint

    saved = load_checkpoint(checkpoint)
    if smiles is not None:
        from grpe_dgl.explain.subjects import subject_of_smiles

        subject = subject_of_smiles(saved, smiles, source=str(checkpoint))
    else:
        folder = find_dataset(dataset or dataset_of_checkpoint(checkpoint, saved), data, raw_dir)
        make_encodings(folder, saved.recipe.model.view.encodings)
        if summary:
            _summarise(saved, folder, split or "valid", out, force, title=str(checkpoint))
            return
        from grpe_dgl.explain.subjects import subject_of_graph

        assert index is not None
        subject = subject_of_graph(saved, folder, index, split, source=str(checkpoint))
    assert out is not None
    _write(saved, subject, out, heads, force, source=str(checkpoint))
    echo(f"{counted(len(subject.maps.layers), 'layer')}, {counted(len(subject.labels), 'node')}: {out}")


def _write(saved: "Checkpoint", subject: "Subject", out: Path, heads: bool, force: bool, source: str) -> None:
    if out.suffix.lower() == ".html":
        from grpe_dgl.explain.attention_page import write_attention_page

        model = saved.recipe.model
        note = f"{source}: {model.NAME}, {model.describe()}"
        write_attention_page(subject, out, note=note, heads=heads, replace=force)
    else:
        from grpe_dgl.explain.attention_figure import draw_attention

        draw_attention(subject, out, heads=heads, replace=force)


def _summarise(saved: "Checkpoint", folder: Path, split: str, out: Path | None, force: bool, title: str) -> None:
    from grpe_dgl.explain.subjects import summary_of_split
    from grpe_dgl.explain.summary_file import write_summary

    show = progress_so_far(f"{folder.name} {split}", "graphs")
    summary = summary_of_split(saved, folder, split, source=title, progress=show)
    what = f"{title} on {folder} {split} ({counted(summary.graphs, 'graph')})"
    if out is not None:
        write_summary(summary, out, title=what, replace=force)
    echo(f"{what}: part of a node's attention, mean over heads")
    _print(summary)
    if out is not None:
        echo(f"written: {out}")


def _print(summary: "AttentionSummary") -> None:
    kinds = [place for place, pairs in enumerate(summary.pairs) if pairs]
    names = {place: summary.kinds[place].replace("distance ", "d ").rjust(6) for place in kinds}
    echo("  ".join(["layer", *names.values()]))
    for layer, row in enumerate(summary.share):
        echo("  ".join([f"{layer + 1:5}", *(f"{row[place]:{len(name)}.4f}" for place, name in names.items())]))
