"""Rows to predict, some hundreds at a time: from SMILES, from a table, from a processed dataset."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.data.store.manifest import FILE
from grpe_dgl.data.store.store import Store
from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT
from grpe_dgl.data.tables.rows import unused_names
from grpe_dgl.data.tables.table import Table
from grpe_dgl.io.quick_start import quick_first_call

if TYPE_CHECKING:
    from grpe_dgl.data.dataset import Dataset

SIZE = 500  # rows at a time: batches are full, and progress shows every few seconds for the largest models, too


@dataclass(frozen=True)
class Chunk:
    """The graphs of some rows."""

    errors: list[str | None]
    """(R,): why a row has no graph; None where it has one."""
    arrays: GraphArrays
    graphs: npt.NDArray[np.int64]
    """(rows without an error,): their graphs' numbers in `arrays`; equal molecules may have the same."""
    smiles: Sequence[str] | None = None
    """The molecules of `graphs`, if they were read from SMILES."""


Job = tuple[list[list[str]], Callable[[], Chunk]]
"""The cells of some rows for the output, and a function that reads their graphs, in this process or another."""


@dataclass(frozen=True)
class Rows:
    """The rows of an input."""

    columns: list[str]
    total: int
    noun: str
    """The noun for one row."""
    jobs: Iterator[Job]
    types: Callable[[], list[str]]
    """Returns the type of each column, names of `grpe_dgl.data.tables.column_types`; it may read the whole input."""


def smiles_rows(smiles: Sequence[str], *, max_nodes: int = MAX_NODES, standardised: bool = False) -> Rows:
    """Return molecules as rows of one column; those of more than `max_nodes` atoms have an error instead of a graph.

    `standardised` is the model's `Schema.standardised_molecules`.
    """
    jobs = _jobs((([text], text) for text in smiles), max_nodes, standardised)
    return Rows(["smiles"], len(smiles), "molecule", jobs, lambda: [TEXT])


def molecule_rows(
    cells: Sequence[list[str]], smiles: Sequence[str], columns: list[str], *, max_nodes: int, standardised: bool
) -> Rows:
    """Return molecules that were read already, with the cells of each, as rows."""
    jobs = _jobs(zip(cells, smiles, strict=True), max_nodes, standardised)
    return Rows(columns, len(smiles), "molecule", jobs, lambda: [TEXT] * len(columns))


def table_rows(
    table: Table, smiles: str | None = None, *, max_nodes: int = MAX_NODES, standardised: bool = False
) -> Rows:
    """Return the rows of a table, with the molecules of the column that `Table.smiles_place` finds."""
    place = table.smiles_place(smiles)
    total = table.count()  # also finds a malformed row before the work starts
    rows = ((cells, cells[place].strip()) for _, cells in table.rows())
    return Rows(table.columns, total, "molecule", _jobs(rows, max_nodes, standardised), table.types)


def dataset_rows(data: Dataset, split: str | None) -> Rows:
    """Return the graphs of a processed dataset, of one split in its order or all of them, as rows.

    Their columns are graph, row and split, the SMILES if the dataset keeps them and, for a task per graph, the label of
    every target.
    """
    names = np.full(len(data), "", dtype=object)
    for name, part in data.splits.items():
        names[part.index] = name
    store, task = data.store, data.schema.task
    index = np.arange(len(data)) if split is None else data[split].index

    def jobs() -> Iterator[Job]:
        for first in range(0, len(index), SIZE):
            graphs = index[first : first + SIZE]
            cells = [
                [
                    str(graph),
                    str(int(store.row[graph])),
                    str(names[graph]),
                    *([store.smiles(int(graph))] if store.has_smiles else []),
                    *(label_cells(store, int(graph)) if task.level == "graph" else []),
                ]
                for graph in graphs
            ]
            yield cells, functools.partial(stored, data.store.path, graphs)

    columns = {"graph": INTEGER, "row": INTEGER, "split": TEXT, **({"smiles": TEXT} if store.has_smiles else {})}
    if task.level == "graph":
        named = task.kind == "multiclass" or bool(task.positive)
        kind = TEXT if named else INTEGER if task.kind == "binary" else NUMBER
        free = unused_names(task.targets, list(columns))
        columns |= dict.fromkeys(free, kind)
    return Rows(list(columns), len(index), "graph", jobs(), lambda: list(columns.values()))


def label_cells(store: Store, graph: int) -> list[str]:
    """Return the labels of a graph as they stand in a table: numbers or names of classes, blank where missing."""
    task, label = store.schema.task, np.atleast_1d(store.label[graph])
    if task.kind == "multiclass":
        return [task.classes[int(label[0])] if label[0] >= 0 else ""]
    if task.kind == "regression":
        return ["" if value != value else f"{float(value):.7g}" for value in label]
    names = list(zip(task.negative, task.positive, strict=True)) or [("0", "1")] * len(label)
    return ["" if value < 0 else pair[int(value)] for value, pair in zip(label, names, strict=True)]


@quick_first_call
def read(smiles: Sequence[str], max_nodes: int = MAX_NODES, standardised: bool = False) -> Chunk:
    """Return the graphs of molecules; equal SMILES are read once and share a graph."""
    place = {text: number for number, text in enumerate(dict.fromkeys(smiles))}
    found, arrays = read_molecules(list(place), max_nodes, standardised=standardised)
    errors = [found[place[text]] for text in smiles]
    graph_of = np.cumsum([error is None for error in found], dtype=np.int64) - 1
    readable = [text for text, error in zip(smiles, errors, strict=True) if error is None]
    return Chunk(errors, arrays, graph_of[[place[text] for text in readable]], readable)


def stored(path: Path, graphs: npt.NDArray[np.int64]) -> Chunk:
    """Return graphs of the processed dataset in the folder `path`."""
    path = path.resolve()
    return Chunk([None] * len(graphs), _store(path, (path / FILE).stat().st_mtime_ns), graphs)


@functools.lru_cache(maxsize=1)
def _store(path: Path, changed: int) -> Store:
    """Return an opened dataset, kept until another one is asked for or its manifest changes."""
    return Store(path)


def _jobs(rows: Iterable[tuple[list[str], str]], max_nodes: int, standardised: bool) -> Iterator[Job]:
    iterator = iter(rows)
    while some := list(islice(iterator, SIZE)):
        molecules = [smiles for _, smiles in some]
        yield [cells for cells, _ in some], functools.partial(read, molecules, max_nodes, standardised)
