"""Read files of `torch.save` without running anything that is in them."""

import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.errors import InputError

# What torch.load raises for bytes that it did not write: its unpickler trips over them in whatever way they ask for.
NOT_TORCH = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


def load_tensors(path: Path) -> Any:
    """Return the tensors and plain values of a file, on the CPU.

    Raises an InputError if it cannot be opened, and one of `NOT_TORCH` if it is none of torch's or holds anything else.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    with file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, about files that are refused in the next moment
        return torch.load(file, map_location="cpu", weights_only=True)
