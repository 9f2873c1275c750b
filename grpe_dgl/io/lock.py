"""Locks on files that end with the process that holds them, however it ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from grpe_dgl.errors import InputError


def try_lock(path: Path) -> int | None:
    """Lock a file or folder for as long as the returned descriptor is open.

    Returns None if another process holds it, and on a file system without locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def exclusive(folder: Path, *, what: str) -> Iterator[None]:
    """Keep other processes out of `folder` during the block, or raise an InputError if one is inside.

    The lock is on the file ``.lock`` in the folder, which is removed at the end. A process that was killed leaves it,
    unlocked.

    Parameters
    ----------
    folder
        The folder, which exists.
    what
        What the other process is doing, for the error: ``"is training"``.
    """
    file = folder / ".lock"
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"another process {what} in {folder}; wait for its end, or stop it first") from None
        except OSError:  # a file system without locks
            pass
        if _is_at(file, descriptor):
            break
        os.close(descriptor)  # the holder before removed this file: lock the one that is there now
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _is_at(file: Path, descriptor: int) -> bool:
    """Whether the open file is the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
