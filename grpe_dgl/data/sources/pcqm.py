"""PCQM4M and PCQM4Mv2 from OGB-LSC's SMILES and split files."""

import csv
import functools
import gzip
import itertools
import math
import pickle
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.catalogue import CATALOGUE, Request
from grpe_dgl.data.molecules.smiles import graphs_of_smiles
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.data.splits import index_split
from grpe_dgl.errors import InputError
from grpe_dgl.io.download import fetch_folder

RUN = 2000  # molecules converted at a time


def make(request: Request) -> Source:
    """Return the source of a request."""
    return pcqm(request.name, request.raw_dir, progress=request.progress)


def pcqm(name: str, raw_dir: Path, *, progress: Callable[[int, int | None], object] | None = None) -> Source:
    """Return the source of ``pcqm4m`` or ``pcqm4mv2``; test molecules have no label.

    Parameters
    ----------
    name
        Which of the two.
    raw_dir
        The folder that holds OGB-LSC's folder, ``pcqm4m_kddcup2021`` or ``pcqm4m-v2``; it is downloaded there if it
        is missing.
    progress
        Passed to `grpe_dgl.io.download.fetch`.
    """
    entry = CATALOGUE[name]
    assert entry.schema is not None
    folder = raw_dir / entry.files
    fetch_folder(str(entry.url), folder, inside=entry.files, needed="raw/data.csv.gz", progress=progress)
    index = _splits(folder / "split_dict.pt", entry.splits)
    num_rows = 1 + max((int(rows.max()) for rows in index.values() if len(rows)), default=-1)
    return Source(
        schema=entry.schema,
        origin=f"{name}, OGB-LSC's raw/data.csv.gz and split_dict.pt",
        num_rows=num_rows,
        jobs=_jobs(folder / "raw" / "data.csv.gz"),
        splits=lambda rows: index_split(index, rows, max(num_rows, int(rows.max(initial=-1)) + 1)),
        settings={"dataset": name},
    )


def _jobs(file: Path) -> Iterator[Job]:
    """Yield a job per run; row i of the file is molecule i of the splits."""
    try:
        with gzip.open(file, "rt", encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream)
            header = next(reader, [])
            for column in ("smiles", "homolumogap"):
                if column not in header:
                    raise InputError(f"{file} has no column {column!r}; it has {', '.join(header)}")
            smiles, gap = header.index("smiles"), header.index("homolumogap")
            first = 0
            while chunk := list(itertools.islice(reader, RUN)):
                label = np.array([[_number(row[gap], file, first + i)] for i, row in enumerate(chunk)], np.float32)
                # No limit on atoms: leaving out a molecule would change the published splits.
                yield functools.partial(
                    graphs_of_smiles, [row[smiles] for row in chunk], label, first_row=first, max_nodes=1 << 16
                )
                first += len(chunk)
    except (EOFError, zlib.error, OSError, IndexError) as error:
        raise InputError(f"{file} is damaged: {error}") from None


def _number(text: str, file: Path, row: int) -> float:
    try:
        return float(text) if text else math.nan
    except ValueError:
        raise InputError(f"{file}, row {row}, column homolumogap: {text!r}; accepted: a number, or blank") from None


def _splits(file: Path, names: tuple[str, ...]) -> dict[str, npt.NDArray[np.int64]]:
    """Return the row numbers of each split from OGB-LSC's file.

    It holds numpy arrays, which `torch.load` refuses by default. The few types they are made of are allowed, under the
    names that old and new numpy give them; anything else in the file is still refused.
    """
    import torch  # here for start-up time: workers that read SMILES do not need it

    reconstruct = np.zeros(0).__reduce__()[0]
    allowed: list[object] = [np.ndarray, np.dtype, type(np.dtype(np.int64)), type(np.dtype(np.int32))]
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        allowed.append((reconstruct, f"{module}._reconstruct"))
    try:
        with torch.serialization.safe_globals(allowed):  # type: ignore[arg-type]  # pairs are accepted since torch 2.5
            loaded = torch.load(file, weights_only=True)
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    missing = [name for name in names if not isinstance(loaded, dict) or name not in loaded]
    if missing:
        raise InputError(f"{file} has no split {missing[0]!r}; accepted: a file with {', '.join(names)}")
    return {name: np.asarray(loaded[name], np.int64).reshape(-1) for name in names}
