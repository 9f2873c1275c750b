"""Make one part: read the rows of a block, compute, write; the same in one process, in many and on a cluster."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.data.tables.rows import unused_names
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.inference.bulk import Fingerprint, Prediction, write_results
from grpe_dgl.inference.inputs import Rows, molecule_rows
from grpe_dgl.inference.library.blocks import Block, Span
from grpe_dgl.inference.library.folder import OutputFolder, Result
from grpe_dgl.inference.library.parquet import parquet_range, texts_of
from grpe_dgl.inference.library.passing import open_passing
from grpe_dgl.inference.writers import Writer, open_table

REASONS = 10  # rows without numbers that a result lists


@dataclass(frozen=True)
class PartMaker:
    """Makes the parts of a library; pickled without the models, which each process loads itself.

    Parameters
    ----------
    compute
        What is computed.
    folder
        Where parts go.
    columns, types
        Of the input files, as `grpe_dgl.inference.library.sources.common_columns` returns them.
    smiles
        The position of the column of molecules.
    max_nodes
        The largest molecule that is taken, in atoms.
    schema
        The Arrow schema of the input columns, if the files are Parquet.
    """

    compute: Prediction | Fingerprint
    folder: OutputFolder
    columns: tuple[str, ...]
    types: tuple[str, ...]
    smiles: int
    max_nodes: int
    schema: Any = None

    @property
    def added_columns(self) -> list[str]:
        """The columns of a part after those of the input: texts, numbers and, last, the reasons for missing numbers."""
        return unused_names([*self.compute.text_columns, *self.compute.number_columns, "error"], self.columns)

    def __call__(self, block: Block, progress: Callable[[int], None] | None = None) -> Result:
        """Make a block's part unless it is finished; a part that cannot be made is a result with an error."""
        finished = self.folder.finished(block)
        if finished is not None:
            return finished
        try:
            result = self._write(block, progress or (lambda rows: None))
            self.folder.finish(block, result)
        except InputError as error:
            return Result(block.number, block.rows, error=str(error))
        except Exception as error:  # one part must not end the others; its error is reported with its name
            return Result(block.number, block.rows, error=f"{type(error).__name__}: {' '.join(str(error).split())}")
        return result

    def _write(self, block: Block, progress: Callable[[int], None]) -> Result:
        failed, done, reasons = 0, 0, list[str]()
        with self._opened(block) as (rows, writer):
            for errors in write_results(rows, self.compute, writer):
                missing = [(done + place, why) for place, why in enumerate(errors) if why is not None]
                reasons += [f"{_where(block, row)}: {why}" for row, why in missing[: REASONS - len(reasons)]]
                failed += len(missing)
                done += len(errors)
                progress(len(errors))
        return Result(block.number, done, failed, tuple(reasons))

    @contextlib.contextmanager
    def _opened(self, block: Block) -> Iterator[tuple[Rows, Writer]]:
        """Yield the rows of a block and the writer of its part, which appears when the context ends without an error.

        The columns of Parquet files are passed on as they are; cells are the numbers of the rows.
        """
        for span in block.spans:
            _require_unchanged(span)
        texts = self.compute.text_columns
        *added, error = self.added_columns
        own, numbers = added[: len(texts)], added[len(texts) :]
        own_types = ["int64" if name == "node" else "string" for name in texts]
        part = self.folder.part(block)
        if self.schema is not None:
            import pyarrow

            table = pyarrow.concat_tables([_parquet_rows(span, self.schema) for span in block.spans])
            smiles = texts_of(table.column(self.smiles), [span.path for span in block.spans])
            rows = self._rows([[str(row)] for row in range(len(table))], smiles, ["row"])
            self.folder.discard(block)
            with open_passing(part, table, own, own_types, numbers, error) as writer:
                yield rows, writer
            return
        cells = list(itertools.chain.from_iterable(map(_text_rows, block.spans)))
        smiles = [row[self.smiles].strip() for row in cells]
        rows = self._rows(cells, smiles, list(self.columns))
        self.folder.discard(block)
        with open_table(part, [*self.columns, *own], numbers, error, lambda: [*self.types, *own_types]) as writer:
            yield rows, writer

    def _rows(self, cells: list[list[str]], smiles: list[str], columns: list[str]) -> Rows:
        standardised = self.compute.schema.standardised_molecules
        return molecule_rows(cells, smiles, columns, max_nodes=self.max_nodes, standardised=standardised)


def _parquet_rows(span: Span, schema: Any) -> Any:
    table = parquet_range(Path(span.path), span.first, span.last, schema)
    if len(table) != span.last - span.first:
        raise InputError(f"{span.path} has fewer rows than it had when the run started")
    return table


def _text_rows(span: Span) -> list[list[str]]:
    rows = [cells for _, cells in itertools.islice(Table(Path(span.path)).rows(), span.first, span.last)]
    if len(rows) != span.last - span.first:
        raise InputError(f"{span.path} has fewer rows than it had when the run started")
    return rows


def _require_unchanged(span: Span) -> None:
    try:
        changed = Path(span.path).stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"{span.path} cannot be read: {error.strerror}") from None
    if changed != span.changed:
        raise InputError(f"{span.path} has changed since the run started")


def _where(block: Block, row: int) -> str:
    """Return the file and the row in it of a row of a block."""
    for span in block.spans:
        if row < span.last - span.first:
            return f"{span.path}, row {span.first + row}"
        row -= span.last - span.first
    return f"row {row}"
