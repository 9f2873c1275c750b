"""A processed dataset, opened: flat memory-mapped arrays and their manifest."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.encodings.files import EncodingArrays, open_encoding, stored_encodings
from grpe_dgl.data.store.array_file import open_array
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema
from grpe_dgl.views import Encoding

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
    weight
        (G,) float32: how much each graph counts in the loss; None where all count the same.
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
        self._encodings: dict[str, EncodingArrays] = {}
        self.weight = arrays.get("weight")
        self._smiles = (arrays["smiles"], arrays["smiles_offsets"]) if "smiles" in arrays else None
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

    @property
    def has_smiles(self) -> bool:
        """Whether the dataset keeps the SMILES that its graphs were made of."""
        return self._smiles is not None

    def smiles(self, graph: int) -> str:
        """Return the SMILES of a graph as its source had it; only if `has_smiles`."""
        assert self._smiles is not None
        text, offsets = self._smiles
        start, end = int(offsets[graph]), int(offsets[graph + 1])
        if not 0 <= start <= end <= len(text):
            raise InputError(f"{self._file('smiles_offsets')} is corrupt at graph {graph}; make the dataset again")
        return text[start:end].tobytes().decode("utf-8", "replace")

    def __reduce__(self) -> tuple[type["Store"], tuple[Path]]:
        return type(self), (self.path.absolute(),)  # another process opens the files itself instead of getting a copy

    @property
    def num_bytes(self) -> int:
        """The size of all arrays on disk, encodings included."""
        encodings = (entry for arrays in stored_encodings(self.path).values() for entry in arrays.values())
        return sum(entry.num_bytes for entry in (*self.manifest.arrays.values(), *encodings))

    def encoding(self, name: str) -> EncodingArrays:
        """Return the stored encoding called ``laplacian:8``; raises an InputError if the folder has none."""
        if name not in self._encodings:
            from grpe_dgl.data.encodings.compute import KINDS  # DGL, which most uses of a store do not need

            encoding = Encoding.parse(name)
            kind = KINDS[encoding.kind]
            self._encodings[name] = open_encoding(
                self.path, self.manifest, encoding, version=kind.version, columns=kind.columns * encoding.size
            )
        return self._encodings[name]

    def verify(self) -> None:
        """Read every array, encodings included, and raise an InputError that names those whose hash is another."""
        hashes = {self._file(name): entry.sha256 for name, entry in self.manifest.arrays.items()}
        for folder, arrays in stored_encodings(self.path).items():
            hashes |= {folder / f"{array}.bin": entry.sha256 for array, entry in arrays.items()}
        try:
            wrong = [file for file, expected in hashes.items() if not file.exists() or _sha256(file) != expected]
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read: {error.strerror}") from None
        if wrong:
            files = ", ".join(map(str, wrong))
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
        return open_array(file, entry)


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
    if "smiles" in manifest.arrays:  # of molecules, in datasets made since they are kept
        shapes |= {"smiles": (None,), "smiles_offsets": (graphs + 1,)}
    if "weight" in manifest.arrays:
        shapes["weight"] = (graphs,)
    return shapes | {f"split-{name}": (count,) for name, count in manifest.splits.items()}


_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def _accepted_dtypes(name: str, schema: Schema) -> tuple[str, ...]:
    """Return the types an array may have; the kernels that read them are correct for no others."""
    if name == "distance":
        return ("uint8",)
    if name == "weight":
        return ("float32",)
    if name == "node_feat" and schema.node_vocabulary is None:
        return ("float32",)
    if name == "label":
        kinds = {"regression": ("float32",), "binary": ("int8",), "multiclass": ("int8", "int16", "int32", "int64")}
        return kinds[schema.task.kind]
    return _UNSIGNED


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
