"""A file that appears whole or not at all."""

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

    Whatever goes wrong before that, a full disk or a kill, leaves what is at `path` as it was. A link stays a link.
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
    """Say what is at `path` after writing there failed."""
    return "what was there before is as it was" if path.exists() else "nothing is there"


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
