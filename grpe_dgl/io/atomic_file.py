"""Atomic writing of files: a file appears complete or not at all."""

import contextlib
import errno
import glob
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.io.lock import try_lock

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def atomic_file(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path` to write to; it takes `path`'s place when the block ends without an error.

    If writing fails or the process is killed before that, `path` is unchanged. A symbolic link stays a link. The
    temporary file of a killed process is removed by the next one that writes to `path`.

    Parameters
    ----------
    path
        The file.
    replace
        Whether a file that is at `path` when the block ends is replaced; otherwise it is an InputError.
    """
    final = path.resolve() if path.is_symlink() else path
    _remove_leftovers(final)
    temporary, lock = _locked_temporary(final)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if replace:
            os.replace(temporary, final)
        elif not _rename_to_free_name(temporary, final):
            raise InputError(f"{path} exists already: another process has written it meanwhile")
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise InputError(f"{path} could not be written: {os.strerror(error.errno)}; {what_is_left(path)}") from error
    finally:
        temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _locked_temporary(final: Path) -> tuple[Path, int | None]:
    """Make an empty file beside `final` and lock it for as long as the returned descriptor is open."""
    while True:
        temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.touch(mode=0o666, exist_ok=False)
        except OSError as error:  # with the name that the user knows
            raise OSError(error.errno, error.strerror, str(final)) from None
        lock = try_lock(temporary)
        if temporary.exists():  # else another process took it for a left-over before it was locked
            return temporary, lock
        if lock is not None:
            os.close(lock)


def _remove_leftovers(final: Path) -> None:
    """Remove the temporary files beside `final` that no living process has locked."""
    for leftover in final.parent.glob(f".{glob.escape(final.name)}.{'[0-9a-f]' * 8}.tmp"):
        with contextlib.suppress(OSError):
            lock = try_lock(leftover)
            if lock is not None:
                leftover.unlink(missing_ok=True)
                os.close(lock)


def _rename_to_free_name(temporary: Path, final: Path) -> bool:
    """Rename a file unless there is one of the new name, also in a race; return whether it was renamed."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: claim the name with an empty file
        try:
            os.close(os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        os.replace(temporary, final)
    return True


def what_is_left(path: Path) -> str:
    """Describe what is at `path` after a failed write."""
    return "the previous file is unchanged" if path.exists() else "no file was written"


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
