"""A processed dataset, opened: flat memory-mapped arrays and their manifest."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.store.manifest import ArrayEntry, Manifest
from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema

Array = npt.NDArray[np.generic]


class Store:
    """The arrays of a processed dataset; graph g's part of each is a slice.

    Opening checks that every array is there with the right type and size and that every graph is in one split at most:
    it takes milliseconds, as it reads the splits and nothing else. Where graphs begin and end is checked batch by batch
    (`grpe_dgl.data.batching.slices`). `verify` reads everything. See docs/format.md for the files.

    Parameters
    ----------
    path
        The dataset's folder.

    Attributes
    ----------
    manifest : Manifest
    node_offsets, edge_offsets, pair_offsets
        (G + 1,): graph g's nodes, edges and pairs are those from offset g to offset g + 1.
    node_feat
        (N, F).
    src, dst, edge_type
        (edges,) each.
    distance
        (pairs,) uint8, as `grpe_dgl.transforms.shortest_paths.all_pairs_distances` makes it.
    label
        (G, T) or (G,), or with N for G: float32, int8 (binary, -1 = missing) or the smallest signed type (multiclass).
    row
        (G,): the row of the source that each graph came from.
    splits
        The graph numbers of each split, in its own order.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = Manifest.read(self.path)
        expected = _expected_shapes(self.manifest)
        missing = sorted(expected.keys() - self.manifest.arrays.keys())
        if missing:
            raise InputError(f"{self.path} is corrupt: its manifest.json names no array {', '.join(missing)}")
        unknown = sorted(self.manifest.arrays.keys() - expected.keys())
        if unknown:
            raise InputError(f"{self.path} is corrupt: its manifest.json names arrays that no dataset has: {unknown}")
        arrays = {name: self._open(name, shape) for name, shape in expected.items()}
        self.node_offsets = arrays["node_offsets"]
        self.edge_offsets = arrays["edge_offsets"]
        self.pair_offsets = arrays["pair_offsets"]
        self.node_feat = arrays["node_feat"]
        self.src = arrays["src"]
        self.dst = arrays["dst"]
        self.edge_type = arrays["edge_type"]
        self.distance = arrays["distance"]
        self.label = arrays["label"]
        self.row = arrays["row"]
        self.splits = {name: arrays[f"split-{name}"] for name in self.manifest.splits}
        totals = (self.manifest.num_nodes, self.manifest.num_edges, self.manifest.num_pairs)
        for name, total in zip(("node_offsets", "edge_offsets", "pair_offsets"), totals, strict=True):
            if arrays[name][0] != 0 or arrays[name][-1] != total:
                raise InputError(f"{self._file(name)} is corrupt: it does not run from 0 to {total}")
        self._check_splits()

    def __len__(self) -> int:
        return self.manifest.num_graphs

    @property
    def schema(self) -> Schema:
        """The form of the graphs, and the task."""
        return self.manifest.schema

    def __reduce__(self) -> tuple[type["Store"], tuple[Path]]:
        return type(self), (self.path.absolute(),)  # another process opens the files itself instead of getting a copy

    @property
    def num_bytes(self) -> int:
        """The size of all arrays on disk."""
        return sum(entry.num_bytes for entry in self.manifest.arrays.values())

    def verify(self) -> None:
        """Read every array and raise an InputError that names those whose hash is not the manifest's."""
        try:
            wrong = [name for name, entry in self.manifest.arrays.items() if _sha256(self._file(name)) != entry.sha256]
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read: {error.strerror}") from None
        if wrong:
            files = ", ".join(str(self._file(name)) for name in wrong)
            raise InputError(f"corrupt: {files} (the SHA-256 is not the one in manifest.json); make the dataset again")

    def _check_splits(self) -> None:
        """Raise unless every split names graphs of the dataset, each of them once and in one split."""
        taken = np.zeros(len(self), np.bool_)
        for name, index in self.splits.items():
            if len(index) and int(index.max()) >= len(self):
                raise InputError(
                    f"{self._file(f'split-{name}')} is corrupt: it names graph {index.max()} of {len(self)}"
                )
            taken[index] = True
        if np.count_nonzero(taken) != sum(map(len, self.splits.values())):
            raise InputError(f"{self.path} is corrupt: a graph is in its splits twice")

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.bin"

    def _open(self, name: str, shape: tuple[int | None, ...]) -> Array:
        entry, file = self.manifest.arrays[name], self._file(name)
        if len(entry.shape) != len(shape) or any(
            want not in (None, got) for want, got in zip(shape, entry.shape, strict=True)
        ):
            raise InputError(f"{self.path} is corrupt: {name} has shape {list(entry.shape)}, expected {list(shape)}")
        accepted = _accepted_dtypes(name, self.schema)
        if entry.dtype not in accepted:
            raise InputError(
                f"{self.path} is corrupt: {name} has dtype {entry.dtype}, expected {' or '.join(accepted)}"
            )
        try:
            size = file.stat().st_size
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
        if size != entry.num_bytes:
            state = "truncated" if size < entry.num_bytes else "corrupt"
            raise InputError(f"{file} is {state}: {size} bytes, expected {entry.num_bytes}; make the dataset again")
        return _map(file, entry)


def _expected_shapes(manifest: Manifest) -> dict[str, tuple[int | None, ...]]:
    """Return the arrays a dataset consists of; None stands for a length that is not fixed by the counts."""
    graphs, edges = manifest.num_graphs, manifest.num_edges
    task = manifest.schema.task
    labelled = graphs if task.level == "graph" else manifest.num_nodes
    shapes: dict[str, tuple[int | None, ...]] = {
        "node_offsets": (graphs + 1,),
        "edge_offsets": (graphs + 1,),
        "pair_offsets": (graphs + 1,),
        "node_feat": (manifest.num_nodes, manifest.schema.num_node_columns),
        "src": (edges,),
        "dst": (edges,),
        "edge_type": (edges,),
        "distance": (manifest.num_pairs,),
        "label": (labelled,) if task.kind == "multiclass" else (labelled, len(task.targets)),
        "row": (graphs,),
    }
    return shapes | {f"split-{name}": (count,) for name, count in manifest.splits.items()}


_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def _accepted_dtypes(name: str, schema: Schema) -> tuple[str, ...]:
    """Return the types an array may have; the kernels that read them are correct for no others."""
    if name == "distance":
        return ("uint8",)
    if name == "node_feat" and schema.node_vocabulary is None:
        return ("float32",)
    if name == "label":
        kinds = {"regression": ("float32",), "binary": ("int8",), "multiclass": ("int8", "int16", "int32", "int64")}
        return kinds[schema.task.kind]
    return _UNSIGNED


def _map(file: Path, entry: ArrayEntry) -> Array:
    dtype = np.dtype(entry.dtype).newbyteorder("<")
    if entry.num_bytes == 0:  # an empty file cannot be mapped
        return np.empty(entry.shape, dtype)
    # As a plain array, which numba and torch accept and which is faster to slice.
    return np.asarray(np.memmap(file, dtype, "r", shape=entry.shape))


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
