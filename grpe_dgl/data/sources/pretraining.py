"""Molecules without labels, with their RDKit descriptors as targets: the data of `grpe pretrain`.

The descriptors are computed where the graphs are made, in worker processes, and go straight into the dataset. They are
scaled robustly: every descriptor is clipped to two of its quantiles, those of a random sample of the rows, and the
dataset's mean and deviation of the clipped values standardise it for training. What RDKit cannot compute is a missing
label, which the loss leaves out.
"""

import functools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data import splits
from grpe_dgl.data.molecules.descriptors import NAMES, descriptors, descriptors_of_smiles
from grpe_dgl.data.molecules.smiles import graphs_of_smiles, with_lines
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.data.tables.formats import ACCEPTED, is_table
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.io.workers import run_in_order
from grpe_dgl.messages import counted
from grpe_dgl.schema import Task, known_schema

RUN = 500  # molecules converted at a time
SAMPLE = 10_000
"""The quantiles are those of so many random rows."""


@dataclass(frozen=True, kw_only=True)
class PretrainingRequest:
    """How to make a dataset for pretraining."""

    files: tuple[Path, ...]
    """Tables of molecules, and folders of tables."""
    smiles: str | None = None
    """The column of the molecules; None for the usual names of `grpe_dgl.data.tables.smiles_column`."""
    quantile: float = 0.005
    """Each descriptor is clipped to this quantile and to one minus it."""
    valid: float = 0.01
    """The fraction of the molecules that is not trained on, and measures the model."""
    max_nodes: int = 100
    """Molecules of more atoms are skipped."""
    seed: int = 0
    """Of the sample and the split."""
    name: str = "pretraining"
    """The dataset's name."""

    def tables(self) -> list[Table]:
        """Return the tables, those of a folder in the order of their names; raises if one has no such column."""
        found: list[Path] = []
        for path in self.files:
            if not path.is_dir():
                found.append(path)
                continue
            inside = sorted(file for file in path.rglob("*") if file.is_file() and is_table(file.name))
            if not inside:
                raise InputError(f"{path} holds no table; accepted: files that end in {ACCEPTED}")
            found += inside
        tables = [Table(file) for file in found]
        for table in tables:
            table.smiles_place(self.smiles)
        return tables

    def settings(self) -> dict[str, Any]:
        """Return the settings that change the data, as plain JSON values."""
        return {
            "files": [[table.file.name, table.checksum()] for table in self.tables()],
            "smiles": self.smiles,
            "descriptors": "rdkit",
            "quantile": self.quantile,
            "valid": self.valid,
            "max_nodes": self.max_nodes,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Limits:
    """Between which values the descriptors that serve as targets are clipped; T of them."""

    columns: npt.NDArray[np.int64]
    """(T,): their places in `grpe_dgl.data.molecules.descriptors.NAMES`."""
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]

    @classmethod
    def of(cls, values: npt.NDArray[np.float32], quantile: float) -> "Limits":
        """Return the quantiles of a sample of descriptors, (R, D); those whose quantiles coincide are left out."""
        known = np.isfinite(values).any(0)
        low, high = np.zeros((2, values.shape[1]), np.float32)
        low[known], high[known] = np.nanquantile(values[:, known], [quantile, 1 - quantile], axis=0)
        columns = np.flatnonzero(known & (low < high))
        return cls(columns, low[columns], high[columns])

    def label(self, molecule: Any) -> npt.NDArray[np.float32]:
        """Return the clipped descriptors of an RDKit molecule, (T,), NaN where there is none."""
        return np.clip(descriptors(molecule)[self.columns], self.low, self.high)


def pretraining_source(request: PretrainingRequest, workers: int = 1) -> tuple[Source, list[str]]:
    """Return the source, and notes for the user.

    The tables are read twice: now, to count the rows and to draw the sample whose quantiles clip the descriptors, and
    again by the jobs.

    Parameters
    ----------
    request
        The tables and options.
    workers
        Processes that compute the descriptors of the sample.
    """
    tables = request.tables()
    sample, num_rows = _sample(tables, request)
    if num_rows == 0:
        raise InputError(f"{', '.join(map(str, request.files))}: there are no rows")
    parts = [sample[i : i + RUN] for i in range(0, len(sample), RUN)]
    jobs = (functools.partial(descriptors_of_smiles, part) for part in parts)
    limits = Limits.of(np.concatenate(list(run_in_order(jobs, _unchanged, workers))), request.quantile)
    if not len(limits.columns):
        raise InputError(
            f"{', '.join(map(str, request.files))}: no descriptor differs between {counted(len(sample), 'molecule')}; "
            "accepted: different molecules"
        )
    names = [NAMES[column] for column in limits.columns]
    notes = [f"{len(names)} RDKit descriptors are the targets"]
    if dropped := [name for name in NAMES if name not in names]:
        rest = f" and {len(dropped) - 5} more" if len(dropped) > 5 else ""
        notes.append(f"left out, as nearly all molecules have the same value: {', '.join(dropped[:5])}{rest}")

    def divide(rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
        result = splits.random_split(len(rows), (1 - request.valid, request.valid, 0.0), request.seed)
        return {name: result[name] for name in ("train", "valid")}

    task = Task(level="graph", kind="regression", targets=tuple(names), metric="mae", standardise=True)
    source = Source(
        schema=known_schema("ogb", name=request.name, task=task),
        origin=f"RDKit descriptors of {', '.join(table.file.name for table in tables[:5])}"
        + (f" and {len(tables) - 5} more" if len(tables) > 5 else ""),
        num_rows=num_rows,
        jobs=_jobs(tables, request, limits),
        splits=divide,
        settings=request.settings(),
    )
    return source, notes


def _jobs(tables: Sequence[Table], request: PretrainingRequest, limits: Limits) -> Iterator[Job]:
    before = 0  # rows of the tables before
    for table in tables:
        place, where, last = table.smiles_place(request.smiles), f"{table.file.name}, {table.noun}", 0
        for first, rows in table.chunks(RUN):
            smiles, lines = [cells[place] for _, cells in rows], [line for line, _ in rows]
            last = first + len(rows)
            yield functools.partial(_convert, smiles, lines, where, before + first, request.max_nodes, limits)
        before += last


def _convert(
    smiles: Sequence[str], lines: Sequence[int], where: str, first_row: int, max_nodes: int, limits: Limits
) -> Graphs:
    graphs = graphs_of_smiles(smiles, first_row=first_row, max_nodes=max_nodes, one_form=True, compute=limits.label)
    if not len(graphs.num_nodes):
        graphs = replace(graphs, label=np.zeros((0, len(limits.columns)), np.float32))
    return with_lines(graphs, lines, first_row, where)


def _sample(tables: Sequence[Table], request: PretrainingRequest) -> tuple[list[str], int]:
    """Return up to `SAMPLE` random molecules of all tables (reservoir sampling), and the number of rows."""
    generator = random.Random(request.seed)
    sample: list[str] = []
    count = 0
    for table in tables:
        place = table.smiles_place(request.smiles)
        for _, cells in table.rows():
            count += 1
            if len(sample) < SAMPLE:
                sample.append(cells[place])
            elif (slot := generator.randrange(count)) < SAMPLE:
                sample[slot] = cells[place]
    return sample, count


def _unchanged(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return values
