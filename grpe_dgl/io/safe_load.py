"""Load files of `torch.save` without running code from them."""

import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch

from grpe_dgl.errors import InputError

# What torch.load raises for other files: on arbitrary bytes its unpickler fails in many ways.
NOT_TORCH = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    MemoryError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


def _check_archive(file: BinaryIO, size: int) -> None:
    """Raise BadZipFile unless every member of a zip archive is stored as torch stores it, with the right checksum."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise zipfile.BadZipFile("a member is compressed or encrypted, as torch writes none")
        if len({member.filename for member in members}) < len(members):
            raise zipfile.BadZipFile("two members have one name")
        if sum(member.file_size for member in members) > size:
            raise zipfile.BadZipFile("the members are larger than the file")
        broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"the checksum of {broken} is wrong")


def load_tensors(path: Path) -> Any:
    """Return the tensors and plain values of a file, on the CPU.

    Raises an InputError if it cannot be opened, and one of `NOT_TORCH` if it is not torch's or holds anything else.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    with file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's warnings about files that it then refuses
        if file.read(2) == b"PK":
            _check_archive(file, path.stat().st_size)
        file.seek(0)
        return torch.load(file, map_location="cpu", weights_only=True)
