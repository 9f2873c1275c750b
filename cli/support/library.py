"""`grpe predict` and `grpe fingerprint` of whole libraries: files in, a folder of parts out."""

import glob
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

from .options import options_as
from .predict_inputs import MAX_NODES, InputOptions
from .progress import progress
from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.inference.bulk import Fingerprint, Prediction
    from grpe_dgl.inference.library.run import Library, Outcome

SHOWN = 10


class ShardType(click.ParamType):
    """One share of several, like 3/16."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a `grpe_dgl.inference.library.blocks.Shard`'s two numbers."""
        number, _, count = str(value).partition("/")
        if number.isascii() and number.isdigit() and count.isascii() and count.isdigit():
            if 1 <= int(number) <= int(count):
                return int(number), int(count)
        self.fail(f"{value!r}; accepted: 1/16 to 16/16, for any number of shares", param, ctx)


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """How a library is computed; None where an option was not given."""

    shard: tuple[int, int] | None
    output_format: str | None
    engine: str | None
    address: str | None

    def require_folder(self) -> None:
        """Raise if an option was given that has no effect on one output file."""
        given = {"--shard": self.shard, "--format": self.output_format, "--engine": self.engine,
                 "--address": self.address}  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise click.UsageError(f"{name} goes with a folder as --out")


library_options = options_as(
    LibraryOptions,
    (
        click.option("--shard", type=ShardType(), help="With a folder as --out: only this share of the parts, 3/16."),
        click.option("--format", "output_format", type=click.Choice(["parquet", "csv", "csv.gz"]),
                     help="Of the parts in a folder.  [default: parquet]"),
        click.option("--engine", type=click.Choice(["local", "ray"]),
                     help="With a folder as --out: processes on this machine, or a Ray cluster.  [default: local]"),
        click.option("--address", help="Of a running Ray cluster; auto finds it.  [default: one is started here]"),
    ),
    argument="library",
)  # fmt: skip


def is_folder(out: str | None) -> bool:
    """Whether ``--out`` names a folder: one that exists, or a name that ends in a slash or has no suffix."""
    if out is None:
        return False
    return out.endswith(("/", os.sep)) or os.path.isdir(out) or (not Path(out).suffix and not os.path.exists(out))


def compute_library(
    inputs: list[str], out: Path, compute: "Prediction | Fingerprint", options: InputOptions, chosen: LibraryOptions
) -> None:
    """Make the missing parts of a library, print what was done, and exit with 1 if a part or a file failed."""
    if options.split is not None:
        raise click.UsageError("--split goes with a processed dataset")
    if options.sheet is not None:
        raise click.UsageError("--sheet goes with one workbook and a file as --out")
    if chosen.address is not None and chosen.engine != "ray":
        raise click.UsageError("--address goes with --engine ray")
    if chosen.engine == "ray":
        from grpe_dgl.inference.library.ray_engine import require_ray

        require_ray()
    from grpe_dgl.inference.bulk import Prediction
    from grpe_dgl.inference.library.blocks import Shard
    from grpe_dgl.inference.library.run import library_files, open_library, run_library
    from grpe_dgl.io.workers import cores

    members = compute.ensemble.members if isinstance(compute, Prediction) else [compute.predictor]
    members[0].require_molecules()
    calibration = compute.ensemble.calibration if isinstance(compute, Prediction) else None
    if calibration is not None and calibration.note is not None:
        echo(f"--interval: {calibration.note}", err=True)
    if isinstance(compute, Prediction) and compute.comparison is not None:
        echo(compute.comparison.describe(), err=True)
    library = open_library(
        library_files(_paths(inputs)),
        out,
        compute,
        smiles=options.smiles,
        max_nodes=options.max_nodes or MAX_NODES,
        output_format=chosen.output_format or "parquet",
        shard=None if chosen.shard is None else Shard(*chosen.shard),
        force=options.force,
    )
    _announce(library, chosen)
    workers = options.workers
    if workers is None and chosen.engine != "ray":
        workers = 1 if compute.device.startswith("cuda") else cores()
    with progress(
        library.maker.folder.job["command"], sum(block.rows for block in library.missing), "molecules"
    ) as more:
        try:
            outcome = run_library(
                library, engine=chosen.engine or "local", workers=workers, address=chosen.address, progress=more
            )
        except KeyboardInterrupt:
            echo(f"finished parts stay in {out}; the same command again makes the others", err=True)
            raise
    _report(library, outcome, out)


def _announce(library: "Library", chosen: LibraryOptions) -> None:
    share = "" if chosen.shard is None else f" of shard {chosen.shard[0]}/{chosen.shard[1]}"
    if not library.share:
        parts = counted(len(library.blocks), "part")
        echo(f"nothing to do: the input is {parts}, and none of them is{share}", err=True)
    there = len(library.share) - len(library.missing)
    if there:
        echo(f"{there:,} of {counted(len(library.share), 'part')}{share} finished already", err=True)
    for source in library.broken:
        echo(f"{source.error}; its rows are left out", err=True)


def _report(library: "Library", outcome: "Outcome", out: Path) -> None:
    made = [result for result in outcome.results if result.error is None]
    rows, failed = sum(result.rows for result in made), sum(result.failed for result in made)
    where = f"reasons in the column {library.maker.added_columns[-1]}"
    without = f", {failed:,} without numbers ({where})" if failed else ""
    echo(f"{counted(rows, 'molecule')}{without}, {counted(len(made), 'part')}: {out}")
    for retry in outcome.retried:
        echo(f"retried: part-{retry.number:05d}, as its worker was lost ({'; '.join(retry.lost)})", err=True)
    problems = [f"part-{result.number:05d}: {result.error}" for result in outcome.errors]
    problems += [str(source.error) for source in library.broken]
    if problems:
        echo(f"{counted(len(problems), 'failure')}; the same command again tries these alone:", err=True)
        for problem in problems:
            echo(f"  {problem}", err=True)
        sys.exit(1)


def _paths(inputs: list[str]) -> list[Path]:
    """Return the files and folders that the arguments name, patterns that the shell did not expand included."""
    paths: list[Path] = []
    for name in inputs:
        if os.path.exists(name):
            found = [name]
        elif glob.has_magic(name):
            found = sorted(glob.glob(name))
        else:
            found = []
        if not found:
            raise InputError(f"{shlex.quote(name)}: there is no such file or folder; with a folder as --out, accepted: "
                             "Parquet or CSV files, or folders of them")  # fmt: skip
        if os.path.exists(os.path.join(name, "manifest.json")):
            raise InputError(f"{name} is a processed dataset; accepted with it: the name of a file as --out")
        paths += map(Path, found)
    return paths
