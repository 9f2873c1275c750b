"""Atomic writing of files: a file appears complete or not at all."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from grpe_dgl.errors import InputError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` to write to; it takes `path`'s place when the block ends without an error.

    If writing fails or the process is killed before that, `path` is unchanged. A symbolic link stays a link.
    """
    final = path.resolve() if path.is_symlink() else path
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, final)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise InputError(f"{path} could not be written: {os.strerror(error.errno)}; {what_is_left(path)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def what_is_left(path: Path) -> str:
    """Describe what is at `path` after a failed write."""
    return "the previous file is unchanged" if path.exists() else "no file was written"


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
