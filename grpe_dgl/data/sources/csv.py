"""A table of molecules: SMILES and one or more targets."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data import splits
from grpe_dgl.data.molecules.smiles import MAX_NODES, canonical_key, graphs_of_smiles, with_lines
from grpe_dgl.data.sources.molecule_notes import MoleculeScan, note_of_column
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.row_weights import RowWeights
from grpe_dgl.data.tables.table import Table
from grpe_dgl.data.tables.targets import TargetScan, read_labels
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted
from grpe_dgl.schema import known_schema

RUN = 2000  # molecules converted at a time
RULES = ("random", "scaffold", "column", "index")


@dataclass(frozen=True, kw_only=True)
class CSVRequest:
    """How to make a dataset from a table of molecules."""

    file: Path
    """A table in any format of `grpe_dgl.data.tables.formats`."""
    sheet: str | None = None
    """Of an Excel workbook; None for the first with a column of SMILES."""
    smiles: str | None = None
    """The column of the molecules; None for the usual names of `grpe_dgl.data.tables.smiles_column`."""
    targets: tuple[str, ...]
    """The columns to predict; a blank cell is a missing label."""
    task: str | None = None
    """``regression`` or ``classification``; None infers it."""
    positive: tuple[str, ...] = ()
    """Classification of two classes: which of them is the positive one; see `grpe_dgl.data.tables.classes`."""
    numbers: NumberFormat = NumberFormat()
    """How numbers are written."""
    bad_labels: str = "refuse"
    """What to do with labels of a regression that are not numbers: ``refuse`` the table, or take them for
    ``missing``."""
    bad_labels_file: Path | None = None
    """Where all of them are listed, as CSV; None for nowhere."""
    split: str = "random"
    """``random``, ``scaffold`` (OGB's rule), ``column`` or ``index``."""
    split_column: str | None = None
    """For ``column``: the column that holds train, valid or test; a blank cell leaves its row out."""
    split_files: Mapping[str, Path] = field(default_factory=dict)
    """For ``index``: per split a file of row numbers, one a line, counted from 0."""
    fractions: tuple[float, ...] = (0.8, 0.1, 0.1)
    """For ``random`` and ``scaffold``: of train, valid and test."""
    seed: int = 0
    """For ``random``."""
    weight_column: str | None = None
    """The column of the rows' weights in the loss, numbers of 0 or more; None: all rows count the same."""
    standardise: bool = False
    """Whether molecules are reduced to their largest fragment and neutralised; see
    `grpe_dgl.data.molecules.standardise`."""
    max_nodes: int = MAX_NODES
    """Molecules of more atoms are skipped."""
    name: str | None = None
    """The dataset's name; None for the file's name without its endings."""

    def __post_init__(self) -> None:
        if self.split not in RULES:
            raise InputError(f"split is {self.split!r}; accepted: {', '.join(RULES)}")
        if (self.split == "column") != (self.split_column is not None):
            raise InputError("the split 'column' and the column of the splits go together; one of them is missing")
        if (self.split == "index") != bool(self.split_files):
            raise InputError("the split 'index' and the files of row numbers go together; one of them is missing")
        if self.split_files and "train" not in self.split_files:
            raise InputError(f"there are row numbers for {', '.join(self.split_files)}; accepted: at least for train")
        splits.check_fractions(self.fractions)
        if self.max_nodes < 1:
            raise InputError(f"max_nodes is {self.max_nodes}; accepted: 1 or more")

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.name or self.file.name.split(".")[0]

    def table(self) -> Table:
        """Return the table, opened."""
        return Table(self.file, sheet=self.sheet)

    def settings(self) -> dict[str, Any]:
        """Return the settings that change the data, as plain JSON values; raises if a column does not exist."""
        table = self.table()
        for column in (*self.targets, self.split_column, self.weight_column):
            if column is not None:
                table.place(column)
        settings: dict[str, Any] = {
            "file": self.file.name,
            "checksum": table.checksum(),
            "smiles": table.columns[table.smiles_place(self.smiles)],
            "targets": list(self.targets),
            "task": self.task,
            "split": self.split,
            "max_nodes": self.max_nodes,
            "canonical_smiles": True,  # from before, there are datasets of the molecules as written
        }
        settings |= self.numbers.settings()
        if self.weight_column is not None:
            settings["weight_column"] = self.weight_column
        if self.standardise:
            settings["standardise"] = True
        if self.sheet is not None:
            settings["sheet"] = self.sheet
        if self.bad_labels != "refuse":
            settings["bad_labels"] = self.bad_labels
        if self.positive:
            settings["positive"] = list(self.positive)
        if self.split in ("random", "scaffold"):
            settings["fractions"] = list(self.fractions)
        if self.split == "random":
            settings["seed"] = self.seed
        if self.split == "column":
            settings["split_column"] = self.split_column
        if self.split == "index":
            settings["split_files"] = {
                name: splits.read_index_file(file).tolist() for name, file in self.split_files.items()
            }
        return settings


def csv_source(request: CSVRequest) -> tuple[Source, list[str]]:
    """Return the source of a table, and a list of notes for the user, complete when the dataset is written.

    The table is read twice: now, to check every target and to determine the task, and again by the jobs.
    """
    table = request.table()
    smiles = table.smiles_place(request.smiles)
    scan = TargetScan(
        table,
        request.targets,
        request.task,
        request.positive,
        numbers=request.numbers,
        bad_labels=request.bad_labels,
        listing=request.bad_labels_file,
    )
    split_place = None if request.split_column is None else table.place(request.split_column)
    weight = None
    if request.weight_column is not None:
        weight = RowWeights(table, request.weight_column, request.numbers)
    split_codes = bytearray()  # per row: 0, 1, 2 of splits.NAMES, or 255 for none
    molecules = MoleculeScan()
    num_rows = 0
    for row, (line, cells) in enumerate(table.rows()):
        num_rows += 1
        scan.add(row, line, cells)
        if weight is not None:
            weight.add(row, line, cells)
        molecules.add(cells[smiles])
        if split_place is not None:
            split_codes.append(
                _split_code(cells[split_place], f"{table.at(row, line)}, column {request.split_column!r}")
            )
    if num_rows == 0:
        raise InputError(f"{request.file} has no rows")
    task = scan.task()
    notes = [
        *table.notes,
        *(note_of_column(table.columns, smiles) if request.smiles is None else ()),
        *scan.notes(task),
    ]
    if weight is not None:
        notes.append(weight.note())
    notes += molecules.notes(standardised=request.standardise)
    index = {name: splits.read_index_file(file) for name, file in request.split_files.items()}
    if split_place is not None:
        code_of_row = np.frombuffer(bytes(split_codes), np.uint8)
        index = {name: np.flatnonzero(code_of_row == code) for code, name in enumerate(splits.NAMES)}
        if left_out := int((code_of_row == 255).sum()):
            verb = "is" if left_out == 1 else "are"
            notes.append(
                f"{counted(left_out, 'row')} {verb} in no split: column {request.split_column!r} is blank there"
            )
    keys: list[npt.NDArray[np.uint64]] = []

    def observe(graphs: Graphs) -> None:
        assert graphs.key is not None
        keys.append(graphs.key)

    def divide(rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
        structures, scaffolds = np.concatenate(keys).T
        if request.split == "random":
            result = splits.random_split(len(rows), request.fractions, request.seed)
        elif request.split == "scaffold":
            result = splits.scaffold_split(scaffolds, request.fractions)
        else:
            result = splits.index_split(index, rows, num_rows)
        by_fractions = request.split in ("random", "scaffold")
        if not len(result["train"]):
            raise InputError(
                f"{request.file}: the split {request.split!r} leaves none of {counted(len(rows), 'molecule')} for "
                "train",
                hint="other_fractions" if by_fractions else None,
            )
        if shared := _count_shared(table, smiles, structures, rows, result, request.standardise):
            occurs = "molecule occurs" if shared == 1 else "molecules occur"
            notes.append(f"{shared:,} {occurs} in more than one split (same canonical SMILES)")
        return result

    places = [table.place(target) for target in request.targets]

    def jobs() -> Iterator[Job]:
        for first, rows in table.chunks(RUN):
            yield functools.partial(
                _convert,
                [cells[smiles] for _, cells in rows],
                read_labels(rows, places, task, request.numbers),
                None if weight is None else weight.read(rows),
                [line for line, _ in rows],
                table.noun,
                first,
                request.max_nodes,
                request.standardise,
                request.split == "scaffold",
            )

    source = Source(
        schema=dataclasses.replace(
            known_schema("ogb", name=request.dataset, task=task), standardised_molecules=request.standardise
        ),
        origin=f"{request.file.name}, {request.split} split",
        num_rows=num_rows,
        jobs=jobs(),
        splits=divide,
        settings=request.settings(),
        observe=observe,
    )
    return source, notes


def _convert(
    smiles: Sequence[str],
    label: npt.NDArray[Any],
    weight: npt.NDArray[np.float32] | None,
    lines: Sequence[int],
    noun: str,
    first_row: int,
    max_nodes: int,
    standardised: bool,
    scaffold_key: bool,
) -> Graphs:
    graphs = graphs_of_smiles(
        smiles,
        label,
        first_row=first_row,
        max_nodes=max_nodes,
        one_form=True,
        standardised=standardised,
        structure_key=True,
        scaffold_key=scaffold_key,
    )
    if weight is not None:
        skipped = {skip.row - first_row for skip in graphs.skipped}
        kept = [place for place in range(len(smiles)) if place not in skipped]
        graphs = dataclasses.replace(graphs, weight=weight[kept])
    return with_lines(graphs, lines, first_row, noun)


def _count_shared(
    table: Table,
    place: int,
    structures: npt.NDArray[np.uint64],
    rows: npt.NDArray[np.int64],
    result: Mapping[str, npt.NDArray[np.int64]],
    standardised: bool,
) -> int:
    """Return how many molecules occur in more than one split; only those with equal structure keys are compared."""
    suspects = np.isin(structures, splits.shared(structures, result))
    if not suspects.any():
        return 0
    key_of = functools.lru_cache(maxsize=1 << 16)(functools.partial(canonical_key, standardised=standardised))
    molecules = np.zeros(len(rows), np.uint64)
    graph, graphs = 0, np.flatnonzero(suspects)
    for row, (_, cells) in enumerate(table.rows()):
        if graph < len(graphs) and row == rows[graphs[graph]]:
            molecules[graphs[graph]] = key_of(cells[place])
            graph += 1
    return len(splits.shared(molecules, {name: index[suspects[index]] for name, index in result.items()}))


def _split_code(cell: str, where: str) -> int:
    if not cell.strip():
        return 255
    name = splits.split_name(cell)
    if name is None:
        raise InputError(f"{where}: {cell!r}; accepted: {', '.join(splits.NAMES)}, or blank")
    return splits.NAMES.index(name)
