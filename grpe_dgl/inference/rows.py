"""Rows to predict, some thousands at a time: from SMILES, from a table, from a processed dataset."""

import collections
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.graphs import Graphs
from grpe_dgl.data.in_memory import GraphArrays, InMemory
from grpe_dgl.data.molecule_columns import ATOM_COLUMNS, NUM_BOND_TYPES
from grpe_dgl.data.molecules import MAX_NODES, graphs_of_smiles
from grpe_dgl.data.packing import Layout, PackedRun, pack
from grpe_dgl.data.source import Task
from grpe_dgl.data.table import Table
from grpe_dgl.data.workers import run_in_order

RUN = 2000  # rows at a time
_LAYOUT = Layout(
    task=Task(level="graph", kind="regression", targets=(), metric="mae"),  # molecules to predict have no labels
    node_vocabulary=ATOM_COLUMNS,
    node_features=None,
    num_edge_types=NUM_BOND_TYPES,
    undirected=True,
)


@dataclass(frozen=True)
class RowChunk:
    """Some rows of an input, with the graphs of those that have one."""

    cells: list[list[str]]
    """R rows, as they are to stand in the output."""
    errors: list[str | None]
    """(R,): why a row has no graph; None where it has one."""
    arrays: GraphArrays
    graphs: npt.NDArray[np.int64]
    """(rows without an error,): their graphs' numbers in `arrays`."""


def molecules(
    rows: Iterable[tuple[list[str], str]], *, max_nodes: int = MAX_NODES, workers: int = 1, size: int = RUN
) -> Iterator[RowChunk]:
    """Yield rows of molecules with their graphs.

    Parameters
    ----------
    rows
        The cells of each row, and its SMILES.
    max_nodes
        The largest molecule that is taken, in atoms.
    workers
        How many processes read molecules; 1 does it here.
    size
        Rows in a chunk.
    """
    waiting: collections.deque[list[list[str]]] = collections.deque()
    iterator = iter(rows)

    def jobs() -> Iterator[Any]:
        while chunk := list(islice(iterator, size)):
            waiting.append([cells for cells, _ in chunk])
            yield functools.partial(graphs_of_smiles, [smiles for _, smiles in chunk], max_nodes=max_nodes)

    for run in run_in_order(jobs(), _pack, workers):
        cells = waiting.popleft()
        errors: list[str | None] = [None] * len(cells)
        for skip in run.graphs.skipped:
            errors[skip.row] = skip.reason
        arrays = InMemory(run, _LAYOUT)
        yield RowChunk(cells, errors, arrays, np.arange(len(arrays)))


def table_rows(table: Table, smiles: str) -> Iterator[tuple[list[str], str]]:
    """Yield the cells and the SMILES of every row of a table."""
    place = table.place(smiles)
    for _, cells in table.rows():
        yield cells, cells[place].strip()


DATASET_COLUMNS = ["graph", "row", "split"]


def dataset_rows(data: Dataset, split: str | None, *, size: int = RUN) -> Iterator[RowChunk]:
    """Yield the graphs of a processed dataset, of one split in its order or all of them, as rows of three columns."""
    names = np.full(len(data), "", dtype=object)
    for name, part in data.splits.items():
        names[part.index] = name
    index = np.arange(len(data)) if split is None else data[split].index
    source_row = data.store.row
    for first in range(0, len(index), size):
        graphs = index[first : first + size]
        cells = [[str(graph), str(int(source_row[graph])), str(names[graph])] for graph in graphs]
        yield RowChunk(cells, [None] * len(cells), data.store, graphs)


def unused_names(wanted: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return the wanted names, with a number after those that are taken already."""
    names: list[str] = []
    for name in wanted:
        number, free = 2, name
        while free in taken or free in names:
            free = f"{name}_{number}"
            number += 1
        names.append(free)
    return names


def _pack(graphs: Graphs) -> PackedRun:
    return pack(graphs, _LAYOUT)
