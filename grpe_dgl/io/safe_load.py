"""Load files of `torch.save` without running code from them."""

import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

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
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


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
        return torch.load(file, map_location="cpu", weights_only=True)
