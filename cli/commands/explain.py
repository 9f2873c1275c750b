"""``grpe explain``: how much each atom and bond contributes to the predictions of molecules."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.data.tables.formats import is_table
from grpe_dgl.messages import counted

from ..support.options import CheckpointFile, require_file
from ..support.output_file import OUTPUTS, check_output
from ..support.progress import progress
from ..support.terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.explain.rows import ExplainedRow


@click.command("explain")
@click.argument("checkpoint", type=CheckpointFile(), metavar="CKPT")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .html, .csv, .csv.gz or .parquet file.")
@click.option(
    "--method",
    type=click.Choice(["masking", "gradient"]),
    default="masking",
    show_default=True,
    help="Leave out each atom and each bond, or integrate gradients: half the work, atoms alone.",
)
@click.option("--target", help="Which target or class.  [default: the first]")
@click.option("--smiles", help="The table's column of molecules.  [default: found by its name]")
@click.option("--force", is_flag=True, help="Overwrite --out.")
def explain_command(
    checkpoint: Path,
    inputs: tuple[str, ...],
    out: Path,
    method: str,
    target: str | None,
    smiles: str | None,
    force: bool,
) -> None:
    """Explain what the model in CKPT predicts for INPUT.

    INPUT is a table of molecules or SMILES. Every molecule gets a number for each atom and bond, in the unit of the
    target (of a classification in log-odds): in a .html file as drawings, in the others as lists in the order of the
    SMILES' own atoms.
    """
    check_output(out, force=force, suffixes=(".html", *OUTPUTS))
    if len(inputs) > 1 and any(map(is_table, inputs)):
        raise click.UsageError(f"{' '.join(inputs)}: accepted: one table, or any number of SMILES")
    if is_table(inputs[0]):
        require_file(Path(inputs[0]))
    elif smiles is not None:
        raise click.UsageError("--smiles goes with a table")

    from grpe_dgl.checkpoint.file import load_checkpoint
    from grpe_dgl.data.tables.table import Table
    from grpe_dgl.explain.explanation import Explainer
    from grpe_dgl.explain.explanation_page import write_explanation_page
    from grpe_dgl.explain.explanation_table import write_explanations
    from grpe_dgl.explain.rows import explain_rows

    explainer = Explainer(load_checkpoint(checkpoint), method, target, source=str(checkpoint))
    if explainer.note is not None:
        echo(explainer.note, err=True)
    names = explainer.output.schema.task.targets
    if target is None and len(names) > 1:
        others = f"{counted(len(names), 'target')}; --target chooses another"
        echo(f"explaining {explainer.output.name}, the first of {others}", err=True)
    if is_table(inputs[0]):
        table = Table(Path(inputs[0]))
        place, columns, types, total = table.smiles_place(smiles), table.columns, table.types, table.count()
        rows: Iterator[tuple[list[str], str]] = ((cells, cells[place].strip()) for _, cells in table.rows())
        for note in table.notes:
            echo(note, err=True)
    else:
        columns, types, total = ["smiles"], lambda: ["string"], len(inputs)
        rows = (([text], text) for text in inputs)

    failed: list[str] = []

    def counting(chunks: Iterator[list["ExplainedRow"]]) -> Iterator[Sequence["ExplainedRow"]]:
        done = 0
        with progress("explain", total, "molecules") as more:
            for chunk in chunks:
                failed.extend(f"row {done + i}: {row.error}" for i, row in enumerate(chunk) if row.error is not None)
                done += len(chunk)
                more(len(chunk))
                yield chunk

    chunks = counting(explain_rows(explainer, rows))
    if out.suffix.lower() == ".html":
        found = [row for chunk in chunks for row in chunk]
        title = f"{explainer.output.name}, explained by {method}: {checkpoint}"
        write_explanation_page(found, explainer, columns, out, title=title, replace=force)
    else:
        write_explanations(chunks, explainer, columns, types, out, replace=force)
    without = f", {len(failed):,} without an explanation" if failed else ""
    echo(f"{counted(total, 'molecule')}{without}: {out}")
    for reason in failed[:10]:
        echo(f"  {reason}")
    if len(failed) > 10:
        echo(f"  and {len(failed) - 10:,} more")
