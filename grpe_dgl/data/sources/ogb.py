"""OGB's molecule datasets (ogbg-molhiv, ogbg-molpcba, ...) from the official raw files."""

import csv
import functools
import gzip
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.catalogue import Request
from grpe_dgl.data.molecules.columns import ATOM_COLUMNS, BOND_COLUMNS, bond_types
from grpe_dgl.data.sources.integer_text import LineReader, parse_integers
from grpe_dgl.data.sources.ogb_facts import entry_of, full_name, schema_of
from grpe_dgl.data.sources.raw_graphs import Graphs, Skipped
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.data.splits import NAMES, index_split
from grpe_dgl.errors import InputError
from grpe_dgl.io.download import fetch_folder

RUN = 2000  # graphs read at a time


def make(request: Request) -> Source:
    """Return the source of a request."""
    return ogb(request.name, request.raw_dir, progress=request.progress)


def ogb(name: str, raw_dir: Path, *, progress: Callable[[int, int | None], object] | None = None) -> Source:
    """Return the source of one of OGB's molecule datasets.

    Parameters
    ----------
    name
        ``molhiv`` or ``ogbg-molhiv``, and so on.
    raw_dir
        The folder that holds OGB's folder, such as ``ogbg_molhiv``; it is downloaded there if it is missing.
    progress
        Passed to `grpe_dgl.io.download.fetch`.
    """
    name = full_name(name)
    entry = entry_of(name)
    folder = raw_dir / name.replace("-", "_")
    with_suffix = folder.with_name(folder.name + "_dgl")  # what older versions of ogb called it
    if with_suffix.is_dir():
        folder = with_suffix
    fetch_folder(entry["url"], folder, inside=entry["download_name"], needed="raw/edge.csv.gz", progress=progress)
    num_nodes = _column(folder / "raw" / "num-node-list.csv.gz")
    num_edges = _column(folder / "raw" / "num-edge-list.csv.gz")
    if len(num_nodes) != len(num_edges):
        raise InputError(f"{folder}/raw has node counts of {len(num_nodes)} graphs and edge counts of {len(num_edges)}")
    rule = entry["split"]
    index = {split: _column(folder / "split" / rule / f"{split}.csv.gz") for split in NAMES}
    targets = _target_names(folder, int(entry["num tasks"]))
    inverse = entry["add_inverse_edge"] == "True"
    return Source(
        schema=schema_of(name, targets),
        origin=f"{name}, OGB's raw files, {rule} split",
        num_rows=len(num_nodes),
        jobs=_jobs(folder / "raw", num_nodes, num_edges, len(targets), inverse, _smiles(folder, len(num_nodes))),
        splits=lambda rows: index_split(index, rows, len(num_nodes)),
        settings={"dataset": name.removeprefix("ogbg-")},
    )


def _jobs(
    raw: Path,
    num_nodes: npt.NDArray[np.int64],
    num_edges: npt.NDArray[np.int64],
    targets: int,
    inverse: bool,
    smiles: list[str] | None,
) -> Iterator[Job]:
    """Yield a job per run with the text of its graphs: only decompression, which is fast, must be done in order."""
    files = {name: LineReader(raw / f"{name}.csv.gz") for name in ("node-feat", "edge", "edge-feat", "graph-label")}
    for first in range(0, len(num_nodes), RUN):
        nodes, edges = num_nodes[first : first + RUN], num_edges[first : first + RUN]
        counts = {"node-feat": nodes.sum(), "edge": edges.sum(), "edge-feat": edges.sum(), "graph-label": len(nodes)}
        text = {name: file.read(int(counts[name])) for name, file in files.items()}
        own = None if smiles is None else smiles[first : first + RUN]
        yield functools.partial(_read, raw, text, nodes, edges, targets, inverse, first, own)


def _read(
    raw: Path,
    text: dict[str, bytes],
    num_nodes: npt.NDArray[np.int64],
    num_edges: npt.NDArray[np.int64],
    targets: int,
    inverse: bool,
    first_row: int,
    smiles: list[str] | None,
) -> Graphs:
    node_feat = parse_integers(text["node-feat"], len(ATOM_COLUMNS), raw / "node-feat.csv.gz")
    edges = parse_integers(text["edge"], 2, raw / "edge.csv.gz")  # (edges, 2)
    edge_type = bond_types(parse_integers(text["edge-feat"], len(BOND_COLUMNS), raw / "edge-feat.csv.gz"))
    if inverse:  # OGB lists a bond once and puts its inverse right after it
        edges = np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)
        edge_type = np.repeat(edge_type, 2)
        num_edges = 2 * num_edges
    label = _labels(text["graph-label"], targets, raw / "graph-label.csv.gz", first_row)
    empty = np.flatnonzero(num_nodes == 0)
    kept = num_nodes > 0
    return Graphs(
        num_nodes=num_nodes[kept],
        num_edges=num_edges[kept],
        node_feat=node_feat,
        src=edges[:, 0],
        dst=edges[:, 1],
        edge_type=edge_type,
        label=label[kept],
        smiles=None if smiles is None else tuple(text for text, keep in zip(smiles, kept, strict=True) if keep),
        skipped=tuple(Skipped(first_row + int(i), "the molecule has no atoms") for i in empty),
    )


def _labels(text: bytes, targets: int, file: Path, first_row: int) -> npt.NDArray[np.float32]:
    """Return the labels (G, T); blank and nan are missing."""
    known = {"": math.nan, "nan": math.nan, "0": 0.0, "0.0": 0.0, "1": 1.0, "1.0": 1.0}  # most labels are one of these
    rows = []
    for i, line in enumerate(text.decode().splitlines()):
        cells = line.split(",")
        if len(cells) != targets:
            raise InputError(f"{file}, row {first_row + i}: {len(cells)} labels; accepted: {targets}")
        try:
            rows.append([known[cell] if cell in known else float(cell) for cell in cells])
        except ValueError:
            raise InputError(f"{file}, row {first_row + i}: {line!r}; accepted: numbers, or blank") from None
    return np.array(rows, np.float32).reshape(-1, targets)


def _column(file: Path) -> npt.NDArray[np.int64]:
    return parse_integers(LineReader(file).read_all(), 1, file)[:, 0]


def _smiles(folder: Path, num_graphs: int) -> list[str] | None:
    """Return the SMILES of every graph from OGB's table of molecules; None without a table of that many."""
    try:
        with gzip.open(folder / "mapping" / "mol.csv.gz", "rt", encoding="utf-8", newline="") as file:
            smiles = [row.get("smiles") or "" for row in csv.DictReader(file)]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        return None
    return smiles if len(smiles) == num_graphs and any(smiles) else None


def _target_names(folder: Path, count: int) -> tuple[str, ...]:
    """Return the names of the targets in OGB's file of molecules; numbers if it has none."""
    try:
        with gzip.open(folder / "mapping" / "mol.csv.gz", "rt", encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
    except (OSError, EOFError):
        header = []
    names = tuple(name for name in header if name not in ("smiles", "mol_id"))
    return names if len(names) == count else tuple(f"target {i}" for i in range(count))
