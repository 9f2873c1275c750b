"""Predict or fingerprint a library: describe its files, divide the rows, make the parts that are missing."""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grpe_dgl.data.tables.formats import is_table
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.inference.bulk import Fingerprint, Prediction
from grpe_dgl.inference.library.blocks import ROWS, Block, Shard, divide
from grpe_dgl.inference.library.folder import OutputFolder, Result
from grpe_dgl.inference.library.parquet import common_schema, is_parquet, require_pyarrow
from grpe_dgl.inference.library.ray_engine import Retried, run_on_ray
from grpe_dgl.inference.library.sources import Source, common_columns, describe
from grpe_dgl.inference.library.work import PartMaker
from grpe_dgl.io.workers import run_in_order

FORMATS = ("parquet", "csv", "csv.gz")
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Library:
    """A library that is ready to be computed."""

    maker: PartMaker
    sources: list[Source]
    blocks: list[Block]
    """Of all shards."""
    share: list[Block]
    """Of this shard."""
    missing: list[Block]
    """Those of them whose part is not there."""

    @property
    def broken(self) -> list[Source]:
        """The files that cannot be read."""
        return [source for source in self.sources if source.error is not None]


@dataclass
class Outcome:
    """What became of a shard."""

    results: list[Result] = field(default_factory=list)
    """Of its blocks, in order."""
    retried: list[Retried] = field(default_factory=list)

    @property
    def errors(self) -> list[Result]:
        """The blocks without a part."""
        return [result for result in self.results if result.error is not None]


def library_files(paths: Sequence[Path]) -> list[Path]:
    """Return the tables that `paths` name: files as given, and of a folder all tables in it, by name."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = [file for file in sorted(path.iterdir()) if _is_input(file)]
            if not found:
                raise InputError(f"{path} has no tables; accepted: a folder of Parquet or CSV files")
            files += found
        else:
            files.append(path)
    return files


def open_library(
    files: Sequence[Path],
    out: Path,
    compute: Prediction | Fingerprint,
    *,
    smiles: str | None = None,
    max_nodes: int,
    output_format: str = "parquet",
    shard: Shard | None = None,
    force: bool = False,
    rows_per_block: int = ROWS,
) -> Library:
    """Describe the files, check the output folder and find what is missing.

    Parameters
    ----------
    files
        Tables with the same columns, in the order of the output; see `library_files`.
    out
        The folder of the parts; made if need be.
    compute
        What is computed.
    smiles
        The column of molecules; None for the one with a usual name.
    max_nodes
        The largest molecule that is taken, in atoms.
    output_format
        One of `FORMATS`.
    shard
        The share that is computed; None for everything.
    force
        Whether parts that are there are made again.
    rows_per_block
        Rows of a part.
    """
    twice = {str(path) for path in files if list(files).count(path) > 1} if len(files) < 10_000 else set()
    if twice:
        raise InputError(f"{sorted(twice)[0]} is given twice; accepted: each file once")
    if output_format == "parquet":
        require_pyarrow("the format of the parts is parquet (accepted, too: csv, csv.gz)")
    job = {
        "command": "predict" if isinstance(compute, Prediction) else "fingerprint",
        "models": [_sha256(path) for path in compute.files],
        "options": {"smiles": smiles, "max_nodes": max_nodes, **compute.options},
        "format": output_format,
        "block": rows_per_block,
    }
    folder = OutputFolder(out, job, f".{output_format}")
    known = folder.known_sources()
    sources = [describe(path, known.get(str(path))) for path in files]
    columns, types = common_columns(sources)
    readable = next(source for source in sources if source.error is None)
    place = Table(Path(readable.path)).smiles_place(smiles)
    schema = _schema(sources) if readable.is_parquet else None
    maker = PartMaker(compute, folder, columns, types, place, max_nodes, schema)
    blocks = divide(sources, rows_per_block)
    shard = shard or Shard()
    share = shard.of(blocks)
    folder.prepare(sources, blocks, force=force, alone=shard.count == 1)
    if force:
        for block in share:
            folder.discard(block)
    return Library(maker, sources, blocks, share, [block for block in share if folder.finished(block) is None])


def run_library(
    library: Library,
    *,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Make the missing parts of a shard.

    Parameters
    ----------
    library
        What `open_library` returned.
    engine
        ``local``: processes on this machine; ``ray``: a Ray cluster.
    workers
        How many processes; None for one in this machine, and all of a cluster.
    address
        See `grpe_dgl.inference.library.ray_engine.run_on_ray`.
    progress
        Called with the number of rows that were done since the last call.
    """
    outcome = Outcome()
    progress = progress or (lambda rows: None)
    done = {block.number: library.maker.folder.finished(block) for block in library.share}
    results = {number: result for number, result in done.items() if result is not None}
    if library.missing:
        if engine == "ray":
            ended = run_on_ray(
                library.missing, library.maker, address=address, workers=workers, retried=outcome.retried
            )
        else:
            ended = _run_here(library, max(1, min(workers or 1, len(library.missing))), progress)
        for result in ended:
            results[result.number] = result
            if engine == "ray" or (workers or 1) > 1 and len(library.missing) > 1:
                progress(result.rows)
    outcome.results = [results[block.number] for block in library.share]
    return outcome


def _run_here(library: Library, workers: int, progress: Progress) -> Iterator[Result]:
    if workers == 1:
        for block in library.missing:
            yield library.maker(block, progress)
        return
    yield from run_in_order((functools.partial(_same, block) for block in library.missing), library.maker, workers)


def _schema(sources: Sequence[Source]) -> Any:
    """Return the Arrow schema of Parquet files; one file is opened for each list of types that there is."""
    distinct = {source.types: Path(source.path) for source in reversed(sources) if source.error is None}
    with_rows = {source.types for source in sources if source.rows}
    chosen = [path for types, path in distinct.items() if types in with_rows]
    return common_schema((chosen or list(distinct.values()))[::-1])


def _same(block: Block) -> Block:
    return block


def _is_input(file: Path) -> bool:
    return not file.name.startswith((".", "_")) and file.is_file() and (is_parquet(file.name) or is_table(file.name))


def _sha256(path: Path) -> str:
    total: Any = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                total.update(part)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    return str(total.hexdigest())
