"""Compute the encodings of a dataset's graphs once, in worker processes, and store them."""

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.encodings.compute import KINDS, encode_graphs
from grpe_dgl.data.encodings.files import FILE, description, folder_of, read_description
from grpe_dgl.data.molecules.descriptors import descriptors_of_smiles
from grpe_dgl.data.store.array_file import ArrayFile
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_folder import AtomicFolder
from grpe_dgl.io.workers import run_in_order
from grpe_dgl.offsets import lengths_of
from grpe_dgl.version import __version__
from grpe_dgl.views import Encoding

_RUN = 250  # graphs encoded at a time
Part = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32] | None]
Progress = Callable[[int, int], object]


def missing_encodings(store: Store, encodings: Iterable[str]) -> list[Encoding]:
    """Return those encodings that the dataset's folder does not hold in the present version for these graphs."""
    missing = []
    for name in encodings:
        encoding = Encoding.parse(name)
        content = read_description(folder_of(store.path, encoding)) or {}
        wanted = description(store.manifest, encoding, KINDS[encoding.kind].version)
        if any(content.get(key) != value for key, value in wanted.items()):
            missing.append(encoding)
    return missing


def prepare_encodings(
    store: Store, encodings: Iterable[str], *, workers: int = 1, progress: Progress | None = None
) -> None:
    """Compute and store what is missing.

    Parameters
    ----------
    store
        The dataset; the encodings appear in its folder, each whole or not at all.
    encodings
        ``laplacian:8`` and so on.
    workers
        Processes; 1 computes in this one.
    progress
        Called for every missing encoding with the number of graphs done and of all.
    """
    if workers < 1:
        raise InputError(f"workers is {workers}; accepted: 1 or more")
    for encoding in missing_encodings(store, encodings):
        _store(store, encoding, workers, progress)


def _store(store: Store, encoding: Encoding, workers: int, progress: Progress | None) -> None:
    kind = KINDS[encoding.kind]
    with AtomicFolder(folder_of(store.path, encoding)) as staging:
        files = {"nodes": ArrayFile(staging.folder / "nodes.bin", np.float32, kind.columns * encoding.size)}
        if kind.has_values:
            files["values"] = ArrayFile(staging.folder / "values.bin", np.float32, encoding.size)
        parts = run_in_order(_jobs(store, encoding), _same, workers)
        done = 0
        try:
            for nodes, values in parts:
                files["nodes"].append(nodes)
                if values is not None:
                    files["values"].append(values)
                done = min(done + _RUN, len(store))
                if progress is not None:
                    progress(done, len(store))
            arrays = {name: file.finish() for name, file in files.items()}
        finally:
            parts.close()
            for file in files.values():
                file.close()
        content = {
            **description(store.manifest, encoding, kind.version),
            "library_version": __version__,
            "arrays": {name: {"dtype": e.dtype, "shape": e.shape, "sha256": e.sha256} for name, e in arrays.items()},
        }
        (staging.folder / FILE).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        staging.commit()


def _jobs(store: Store, encoding: Encoding) -> Iterator[Callable[[], Part]]:
    for first in range(0, len(store), _RUN):
        yield functools.partial(_encode, store.path.absolute(), first, min(first + _RUN, len(store)), encoding)


def _encode(path: Path, first: int, last: int, encoding: Encoding) -> Part:
    """Return the encodings of the graphs first..last-1 of a dataset."""
    store = _open(path)
    edges = slice(int(store.edge_offsets[first]), int(store.edge_offsets[last]))

    def molecules() -> npt.NDArray[np.float32]:
        smiles = [store.smiles(graph) for graph in range(first, last)]
        return descriptors_of_smiles(smiles, encoding.kind, standardised=store.schema.standardised_molecules)

    return encode_graphs(
        lengths_of(store.node_offsets[first : last + 1]),
        lengths_of(store.edge_offsets[first : last + 1]),
        store.src[edges].astype(np.int64),
        store.dst[edges].astype(np.int64),
        encoding,
        undirected=store.schema.undirected,
        molecules=molecules if store.has_smiles else None,
    )


def _same(part: Part) -> Part:
    return part


@functools.lru_cache(maxsize=1)
def _open(path: Path) -> Store:
    return Store(path)
