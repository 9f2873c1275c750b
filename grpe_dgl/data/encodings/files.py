"""The files of stored encodings: ``DATASET/encodings/laplacian-8/`` with ``encoding.json`` and the arrays."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.store.array_file import open_array
from grpe_dgl.data.store.manifest import ArrayEntry, Manifest
from grpe_dgl.errors import InputError
from grpe_dgl.views import DESCRIPTORS, Encoding

FOLDER = "encodings"
FILE = "encoding.json"
FORMAT = "grpe-dgl encoding"
Array = npt.NDArray[np.generic]


class EncodingArrays(NamedTuple):
    """The encodings of many graphs."""

    nodes: Array
    """(N, columns) float32."""
    values: Array | None
    """(G, size) float32; None for kinds without numbers per graph."""


def folder_of(dataset: Path, encoding: Encoding) -> Path:
    """Return where an encoding of a dataset is stored."""
    return dataset / FOLDER / f"{encoding.kind}-{encoding.size}"


def description(manifest: Manifest, encoding: Encoding, version: int) -> dict[str, Any]:
    """Return what must be equal for stored arrays to be used: the kind's version and the graphs they belong to."""
    names = ["node_offsets", "edge_offsets", "src", "dst"]
    names += ["smiles"] if encoding.kind in DESCRIPTORS and "smiles" in manifest.arrays else []
    graphs = "".join(manifest.arrays[name].sha256 for name in names)
    return {
        "format": FORMAT,
        "encoding": str(encoding),
        "version": version,
        "graphs": hashlib.sha256(graphs.encode()).hexdigest(),
    }


def read_description(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``encoding.json``; None if there is none."""
    try:
        content = json.loads((folder / FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{folder / FILE} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{folder / FILE} is corrupt: it is not JSON ({error})") from None
    return content if isinstance(content, dict) else {}


def entries(folder: Path, content: dict[str, Any]) -> dict[str, ArrayEntry]:
    """Return the arrays that ``encoding.json`` lists, by name."""
    try:
        found = {
            name: ArrayEntry(dtype=entry["dtype"], shape=tuple(entry["shape"]), sha256=entry["sha256"])
            for name, entry in content["arrays"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / FILE} is corrupt: {type(error).__name__}: {error}") from None
    for name, entry in found.items():
        if name not in ("nodes", "values") or entry.dtype != "float32" or len(entry.shape) != 2:
            raise InputError(f"{folder / FILE} is corrupt: array {name!r} is {entry.dtype} {list(entry.shape)}")
    return found


def open_encoding(
    dataset: Path, manifest: Manifest, encoding: Encoding, *, version: int, columns: int
) -> EncodingArrays:
    """Map the arrays of a stored encoding, or raise an InputError if there is none that belongs to these graphs."""
    folder = folder_of(dataset, encoding)
    content = read_description(folder)
    wanted = description(manifest, encoding, version)
    if content is None or any(content.get(key) != value for key, value in wanted.items()):
        found = "does not have" if content is None else "has an outdated version of"
        raise InputError(
            f"{dataset} {found} the encoding {encoding}; it is computed when a model that reads it is trained",
            hint="make_encoding",
            value=str(encoding),
        )
    arrays = entries(folder, content)
    shapes = {"nodes": (manifest.num_nodes, columns), "values": (manifest.num_graphs, encoding.size)}
    for name, entry in arrays.items():
        if entry.shape != shapes[name]:
            raise InputError(f"{folder} is corrupt: {name} has shape {list(entry.shape)}, not {list(shapes[name])}")
    if "nodes" not in arrays:
        raise InputError(f"{folder / FILE} is corrupt: it names no array nodes")
    opened = {name: open_array(folder / f"{name}.bin", entry) for name, entry in arrays.items()}
    return EncodingArrays(opened["nodes"], opened.get("values"))


def stored_encodings(dataset: Path) -> dict[Path, dict[str, ArrayEntry]]:
    """Return the arrays of every encoding that a dataset has, by the encoding's folder."""
    found = {}
    for folder in sorted((dataset / FOLDER).glob("[!.]*")):
        content = read_description(folder)
        if content is not None:
            found[folder] = entries(folder, content)
    return found
