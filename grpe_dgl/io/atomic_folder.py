"""Atomic writing of folders: a folder is written beside its final place and renamed at the end.

Killed at any moment, a process leaves the old folder or none at the final place, and a hidden folder beside it that the
next one removes. Several processes may write the same folder: that of the last to finish remains.
"""

import contextlib
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from grpe_dgl.errors import InputError
from grpe_dgl.io.lock import try_lock


class AtomicFolder:
    """A temporary folder beside `final`; `commit` puts it in `final`'s place, leaving the block without it removes it.

    Parameters
    ----------
    final
        Where the folder is to appear. Its parent is made if need be.

    Attributes
    ----------
    folder : Path
        Where to write until then.
    """

    def __init__(self, final: Path) -> None:
        self._final = final = final.absolute()
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            with _locked(final.parent):
                _remove_leftovers(final)
                self.folder = final.parent / f".{final.name}.{secrets.token_hex(4)}.tmp"
                self.folder.mkdir()
                # Held until this process ends, however it ends: a folder without a lock was left by a dead process.
                self._lock = try_lock(self.folder)
        except OSError as error:
            raise InputError(f"{final.parent} cannot be written to: {error.strerror}") from None

    def commit(self) -> None:
        """Put the folder in its final place; what is there is replaced."""
        with _locked(self._final.parent):
            old = self.folder.with_suffix(".old")
            with contextlib.suppress(FileNotFoundError):
                os.rename(self._final, old)
            os.rename(self.folder, self._final)
            _sync(self._final.parent)
        shutil.rmtree(old, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def _remove_leftovers(final: Path) -> None:
    """Remove what dead processes left beside `final`; an old dataset moved aside and not yet replaced comes back."""
    beside = f".{glob.escape(final.name)}.{'[0-9a-f]' * 8}"
    for folder in final.parent.glob(f"{beside}.old"):
        if not final.exists():
            os.rename(folder, final)
        shutil.rmtree(folder, ignore_errors=True)
    for folder in final.parent.glob(f"{beside}.tmp"):
        lock = try_lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of this block for the same folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: the renames are still atomic one by one
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Flush a folder's entries to disk, so that they survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
