"""``manifest.json``: what a processed dataset says of itself."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import grpe_dgl
from grpe_dgl.data.sources.source import Task
from grpe_dgl.errors import InputError
from grpe_dgl.relations import LARGEST_DISTANCE, UNREACHABLE

FILE = "manifest.json"
FORMAT = "grpe-dgl dataset"
FORMAT_VERSION = 1
DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32")
SPLIT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class ArrayEntry:
    """One array of the folder, kept in the file ``<its name>.bin``: little-endian, C order, nothing else."""

    dtype: str
    """A name of `DTYPES`."""
    shape: tuple[int, ...]
    sha256: str
    """Of the file's bytes, in hexadecimal."""

    @property
    def num_bytes(self) -> int:
        """The size the file must have."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything about a dataset but its arrays; the fields up to `undirected` are those of its `Source`."""

    name: str
    origin: str
    settings: Mapping[str, Any]
    task: Task
    vocabulary: str
    node_vocabulary: tuple[int, ...] | None
    node_features: int | None
    num_edge_types: int
    undirected: bool
    num_graphs: int
    num_nodes: int
    num_edges: int
    num_pairs: int
    """Sum of n * n over the graphs."""
    max_nodes: int
    """Nodes of the largest graph."""
    num_rows: int
    """Rows of the source, skipped ones included."""
    num_skipped: int
    splits: Mapping[str, int]
    """How many graphs each split has."""
    target_mean: tuple[float, ...] | None
    """Regression: of each target over the training split, missing labels left out; 0 where all are missing."""
    target_deviation: tuple[float, ...] | None
    """The same for the standard deviation (over the number of labels, not one less); 1 where it is 0."""
    arrays: Mapping[str, ArrayEntry]
    library_version: str = grpe_dgl.__version__

    def to_json(self) -> str:
        """Return the text of ``manifest.json``."""
        relations = {
            "num_edge_types": self.num_edge_types,
            "distance_exact_up_to": LARGEST_DISTANCE,
            "distance_longer": LARGEST_DISTANCE + 1,
            "distance_unreachable": UNREACHABLE,
        }
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        return json.dumps({**head, **asdict(self), "relations": relations}, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the manifest of the dataset in `folder`, or raise an InputError that says what is wrong with it."""
        path = folder / FILE
        try:
            content = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            found = "a folder without manifest.json" if folder.is_dir() else "no folder"
            raise InputError(f"{folder} is not a dataset: found {found}", hint="make_dataset") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path} is corrupt: it is not JSON ({error})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{folder} is not a dataset: its manifest.json is not that of a {FORMAT}")
        version = content.get("format_version")
        if not isinstance(version, int) or version < 1:
            raise InputError(f"{path} is corrupt: format_version is {version!r}")
        if version > FORMAT_VERSION:
            raise InputError(
                f"{folder} has format version {version}, written by grpe-dgl {content.get('library_version')}; "
                f"this is grpe-dgl {grpe_dgl.__version__}, which reads up to {FORMAT_VERSION}: update it"
            )
        try:
            return cls(**_fields(content))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is corrupt: {type(error).__name__}: {error}") from None


def typed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields that were saved as plain dicts and lists with their task and tuples made again."""
    task = plain["task"]
    fields = {**plain, "task": Task(**{**task, "targets": tuple(task["targets"]), "classes": tuple(task["classes"])})}
    for key in ("node_vocabulary", "target_mean", "target_deviation"):
        fields[key] = None if fields[key] is None else tuple(fields[key])
    return fields


def _fields(content: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists and dicts of JSON into the manifest's types, checking what names a file or a dtype."""
    head = ("format", "format_version", "relations")
    fields = typed({key: value for key, value in content.items() if key not in head})
    for key in ("num_graphs", "num_nodes", "num_edges", "num_pairs", "max_nodes", "num_edge_types"):
        if not isinstance(fields[key], int) or fields[key] < 0:
            raise ValueError(f"{key} is {fields[key]!r}")
    for name in fields["splits"]:
        check_split_name(name)
    arrays = {}
    for name, entry in fields["arrays"].items():
        if entry["dtype"] not in DTYPES or not all(isinstance(n, int) and n >= 0 for n in entry["shape"]):
            raise ValueError(f"array {name} has dtype {entry['dtype']!r} and shape {entry['shape']!r}")
        arrays[name] = ArrayEntry(dtype=entry["dtype"], shape=tuple(entry["shape"]), sha256=str(entry["sha256"]))
    fields["arrays"] = arrays
    return fields


def check_split_name(name: str) -> None:
    """Raise unless `name` can be a split's: it becomes part of a file's name."""
    if not isinstance(name, str) or not SPLIT_NAME.fullmatch(name):
        raise InputError(f"split is called {name!r}; accepted: small letters, digits, - and _")


def smallest_unsigned(largest: int) -> npt.DTypeLike:
    """Return the smallest unsigned integer type that holds 0..largest."""
    return np.min_scalar_type(max(int(largest), 0))
