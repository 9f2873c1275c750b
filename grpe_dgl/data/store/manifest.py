"""``manifest.json``: the description of a processed dataset."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short
from grpe_dgl.relations import LARGEST_DISTANCE, UNREACHABLE
from grpe_dgl.schema import Schema
from grpe_dgl.version import __version__

FILE = "manifest.json"
FORMAT = "grpe-dgl dataset"
FORMAT_VERSION = 2  # version 1 (grpe-dgl 0.1) has no edge_columns and no checksum
CHECKSUM = "checksum"
COUNTS = ("num_graphs", "num_nodes", "num_edges", "num_pairs", "max_nodes", "num_rows", "num_skipped")
DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32")
_SCHEMA_KEYS = frozenset((*(field.name for field in dataclass_fields(Schema)), "num_edge_types"))
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
    """Everything about a dataset but its arrays. In the file, the schema's keys are on the top level."""

    schema: Schema
    origin: str
    settings: Mapping[str, Any]
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
    arrays: Mapping[str, ArrayEntry]
    library_version: str = __version__

    def __getattr__(self, name: str) -> Any:
        """Return the schema's `task`, `node_vocabulary` and so on, which were the manifest's own in version 0.1."""
        if name in _SCHEMA_KEYS:
            return getattr(self.schema, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_json(self) -> str:
        """Return the text of ``manifest.json``."""
        relations = {
            "num_edge_types": self.schema.num_edge_types,
            "distance_exact_up_to": LARGEST_DISTANCE,
            "distance_longer": LARGEST_DISTANCE + 1,
            "distance_unreachable": UNREACHABLE,
        }
        fields = asdict(self)
        content = {"format": FORMAT, "format_version": FORMAT_VERSION, **fields.pop("schema"), **fields}
        content["relations"] = relations
        content[CHECKSUM] = checksum(content)
        return json.dumps(content, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the manifest of the dataset in `folder`, or raise an InputError that describes the problem."""
        path = folder / FILE
        try:
            content = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            found = "a folder without manifest.json" if folder.is_dir() else "no folder"
            raise InputError(f"{folder} is not a dataset: found {found}", hint="make_dataset") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is corrupt: it is not JSON ({error})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{folder} is not a dataset: its manifest.json is not that of a {FORMAT}")
        version = content.get("format_version")
        if type(version) is not int or version < 1:
            raise InputError(f"{path} is corrupt: format_version is {version!r}")
        if version > FORMAT_VERSION:
            raise InputError(
                f"{folder} has format version {version}, written by grpe-dgl {content.get('library_version')}; "
                f"this is grpe-dgl {__version__}, which reads up to {FORMAT_VERSION}: update it"
            )
        written = content.pop(CHECKSUM, None)
        if written is not None and written != checksum(content):
            raise InputError(f"{path} is corrupt: its checksum is not that of its content; make the dataset again")
        try:
            return cls(**_fields(content))
        except InputError as error:
            raise InputError(f"{path} is corrupt: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{path} is corrupt: {type(error).__name__}: {error}") from None


def checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a manifest's content without its checksum, as JSON with sorted keys and no spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(content: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists and dicts of JSON into the manifest's types, checking what names a file or a dtype."""
    head = ("format", "format_version", "relations")
    schema = Schema.from_dict({key: value for key, value in content.items() if key in _SCHEMA_KEYS})
    fields = {key: value for key, value in content.items() if key not in _SCHEMA_KEYS and key not in head}
    for key in COUNTS:
        _require(_is_count(fields[key]), key, fields[key], "a whole number, 0 or more")
    for key, kind in (("origin", str), ("library_version", str), ("settings", dict), ("splits", dict)):
        _require(isinstance(fields[key], kind), key, fields[key], f"a {kind.__name__}")
    for name, count in fields["splits"].items():
        check_split_name(name)
        _require(_is_count(count), f"splits.{name}", count, "a whole number, 0 or more")
    _require(isinstance(fields["arrays"], dict), "arrays", fields["arrays"], "a dict")
    arrays = {}
    for name, entry in fields["arrays"].items():
        dtype, shape, sha256 = entry["dtype"], entry["shape"], entry["sha256"]
        _require(dtype in DTYPES, f"arrays.{name}.dtype", dtype, ", ".join(DTYPES))
        _require(isinstance(shape, list) and all(map(_is_count, shape)), f"arrays.{name}.shape", shape, "sizes")
        _require(isinstance(sha256, str), f"arrays.{name}.sha256", sha256, "a text")
        arrays[name] = ArrayEntry(dtype=dtype, shape=tuple(shape), sha256=sha256)
    return {**fields, "schema": schema, "arrays": arrays}


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _require(fits: bool, key: str, found: object, accepted: str) -> None:
    if not fits:
        raise InputError(f"{key} is {short(found)}; expected {accepted}")


def check_split_name(name: str) -> None:
    """Raise unless `name` can be a split's: it becomes part of a file's name."""
    if not isinstance(name, str) or not SPLIT_NAME.fullmatch(name):
        raise InputError(f"split is called {name!r}; accepted: small letters, digits, - and _")


def smallest_unsigned(largest: int) -> npt.DTypeLike:
    """Return the smallest unsigned integer type that holds 0..largest."""
    return np.min_scalar_type(max(int(largest), 0))
