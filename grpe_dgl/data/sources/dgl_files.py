"""The files of `dgl.data`'s built-in datasets: their location, download, and reading in runs."""

import functools
import hashlib
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.catalogue import Entry
from grpe_dgl.data.sources.dgl_reader import read_arrays
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job
from grpe_dgl.errors import InputError
from grpe_dgl.io.download import extract_zip, fetch
from grpe_dgl.offsets import offsets_of

RUN = 500  # graphs read at a time
_HEADER = struct.Struct("<4Q")  # magic number, version, kind of graph, number of graphs
_MAGIC = 0xDD2E4FF046B4A13F


def files_of(
    name: str, entry: Entry, raw_dir: Path, progress: Callable[[int, int | None], object] | None = None
) -> dict[str, Path]:
    """Return the file of each split, downloading the publisher's archive if they are not there.

    Parameters
    ----------
    name
        DGL's name of the dataset. DGL keeps its files in a folder named after it and the archive's address:
        ``RAW_DIR/<name>_<hash of the address>``.
    entry
        Its address and the names of its files.
    raw_dir
        The folder that DGL calls ``raw_dir``.
    progress
        Passed to `grpe_dgl.io.download.fetch`.
    """
    url, pattern = str(entry.url), entry.files
    folder = raw_dir / f"{name}_{hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()[:8]}"
    files = {split: folder / pattern.format(split) for split in entry.splits}
    missing = [file for file in files.values() if not file.is_file()]
    if missing:
        extract_zip(fetch(url, raw_dir / f"{name}.zip", progress=progress), folder)
    for file in missing:
        if not file.is_file():
            raise InputError(f"{raw_dir / f'{name}.zip'} was unpacked into {folder}, and {file.name} is not in it")
    return files


def runs(files: Mapping[str, Path], read: Callable[[Path, int, int], Graphs]) -> tuple[dict[str, int], Iterator[Job]]:
    """Return how many graphs each split's file has, and the jobs that read them in order."""
    counts = {split: count_graphs(file) for split, file in files.items()}

    def jobs() -> Iterator[Job]:
        for split, file in files.items():
            for first in range(0, counts[split], RUN):
                yield functools.partial(read, file, first, min(first + RUN, counts[split]))

    return counts, jobs()


def consecutive(counts: Mapping[str, int]) -> dict[str, npt.NDArray[np.int64]]:
    """Return splits of the given sizes that follow one another from graph 0 on."""
    ends = offsets_of(list(counts.values()))
    return {split: np.arange(ends[i], ends[i + 1]) for i, split in enumerate(counts)}


def count_graphs(file: Path) -> int:
    """Return how many graphs a file of `dgl.save_graphs` holds, from its header."""
    try:
        with file.open("rb") as stream:
            header = stream.read(_HEADER.size)
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    magic, version, _, count = _HEADER.unpack(header) if len(header) == _HEADER.size else (0, 0, 0, 0)
    if magic != _MAGIC or version != 2:
        raise InputError(f"{file} is not a file of dgl.save_graphs (format 2)")
    if not 0 < count <= size // 8:  # the file has the position of each graph, 8 bytes, and then the graphs
        raise InputError(f"{file} is corrupt: its header counts {count} graphs in {size:,} bytes")
    return count


def read_graphs(file: Path, first: int, last: int, node_data: Sequence[str], edge_data: Sequence[str]) -> "DGLRun":
    """Read graphs first..last-1 of a file; DGL reads it in a process of its own."""
    arrays = read_arrays(file, first, last, node_data, edge_data)
    if len(arrays["num_nodes"]) != last - first:
        raise InputError(f"{file} is corrupt: graphs {first}..{last - 1} are {len(arrays['num_nodes'])}")
    labels = {name.removeprefix("label."): array for name, array in arrays.items() if name.startswith("label.")}
    return DGLRun(
        num_nodes=arrays["num_nodes"],
        num_edges=arrays["num_edges"],
        src=arrays["src"],
        dst=arrays["dst"],
        node_data={key: arrays[f"node.{key}"] for key in node_data},
        edge_data={key: arrays[f"edge.{key}"] for key in edge_data},
        labels=labels,
    )


class DGLRun:
    """The arrays of a run of DGLGraphs, the edges numbered within their graph."""

    def __init__(
        self,
        *,
        num_nodes: npt.NDArray[np.int64],
        num_edges: npt.NDArray[np.int64],
        src: npt.NDArray[np.int64],
        dst: npt.NDArray[np.int64],
        node_data: Mapping[str, npt.NDArray[np.generic]],
        edge_data: Mapping[str, npt.NDArray[np.generic]],
        labels: Mapping[str, npt.NDArray[np.generic]],
    ) -> None:
        self.num_nodes, self.num_edges, self.src, self.dst = num_nodes, num_edges, src, dst
        self.node_data, self.edge_data, self.labels = node_data, edge_data, labels
