"""One flat array on disk, appended to run by run."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.store.manifest import ArrayEntry
from grpe_dgl.errors import InputError

_CHUNK = 1 << 20  # items converted at a time


class ArrayFile:
    """A file of one little-endian array that grows along its first axis and widens its integer type when it must.

    Parameters
    ----------
    path
        The file; an existing one is overwritten.
    dtype
        Its first type.
    columns
        The length of the second axis; None for an array of one axis.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, columns: int | None = None) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._columns = columns
        self._rows = 0
        self._begin()

    def append(self, array: npt.NDArray[Any]) -> None:
        """Append the rows of `array`."""
        if (
            self._dtype.kind in "iu"
            and array.dtype.kind == self._dtype.kind
            and array.dtype.itemsize > self._dtype.itemsize
        ):
            self._widen(array.dtype)
        self._write(array)
        self._rows += len(array)

    def finish(self) -> ArrayEntry:
        """Flush the file to disk, close it and return its entry in the manifest."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        shape = (self._rows,) if self._columns is None else (self._rows, self._columns)
        return ArrayEntry(dtype=self._dtype.name, shape=shape, sha256=self._hash.hexdigest())

    def close(self) -> None:
        """Close the file, finished or not."""
        self._stream.close()

    def _begin(self) -> None:
        self._stream = self._path.open("wb", buffering=1 << 18)
        self._hash = hashlib.sha256()

    def _write(self, array: npt.NDArray[Any]) -> None:
        data = np.ascontiguousarray(array, self._dtype.newbyteorder("<"))
        content = data.view(np.uint8).data if data.size else b""
        self._hash.update(content)
        self._stream.write(content)

    def _widen(self, dtype: np.dtype[Any]) -> None:
        """Rewrite the file in a wider type; this happens at most a few times per dataset."""
        self._stream.close()
        narrow, old_dtype = self._path.with_suffix(".narrow"), self._dtype.newbyteorder("<")
        self._path.rename(narrow)
        self._dtype = dtype
        self._begin()
        with narrow.open("rb") as old:
            while block := old.read(_CHUNK * old_dtype.itemsize):
                self._write(np.frombuffer(block, old_dtype))
        narrow.unlink()


def write_array(path: Path, array: npt.NDArray[Any]) -> ArrayEntry:
    """Write a whole array and return its entry in the manifest."""
    file = ArrayFile(path, array.dtype, array.shape[1] if array.ndim == 2 else None)
    file.append(array)
    return file.finish()


def open_array(file: Path, entry: ArrayEntry) -> npt.NDArray[np.generic]:
    """Map an array's file into memory, read-only, after checking that it has the right size."""
    try:
        size = file.stat().st_size
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    if size != entry.num_bytes:
        state = "truncated" if size < entry.num_bytes else "corrupt"
        raise InputError(f"{file} is {state}: {size} bytes, expected {entry.num_bytes}; make the dataset again")
    dtype = np.dtype(entry.dtype).newbyteorder("<")
    if entry.num_bytes == 0:  # an empty file cannot be mapped
        return np.empty(entry.shape, dtype)
    # As a plain array, which numba and torch accept and which is faster to slice.
    return np.asarray(np.memmap(file, dtype, "r", shape=entry.shape))
