"""Download a publisher's archive and unpack it."""

import contextlib
import contextvars
import http.client
import lzma
import os
import shutil
import stat
import struct
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short

_CHUNK = 1 << 20
_TIMEOUT = 60.0  # seconds without a byte
MOST_BYTES = 64 << 30
"""The largest size of an archive's content, unpacked: 64 GiB."""
MOST_TIMES = 200
"""How many times larger than the archive its content may be; the texts of numbers that publishers pack are under 20."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class NotDownloadedError(InputError):
    """A publisher's file does not exist, and downloads are switched off."""


_allowed = contextvars.ContextVar("downloads_allowed", default=True)


@contextlib.contextmanager
def no_downloads() -> Iterator[None]:
    """Make `fetch` raise an InputError inside this block instead of downloading."""
    token = _allowed.set(False)
    try:
        yield
    finally:
        _allowed.reset(token)


def fetch(url: str, target: Path, *, progress: Callable[[int, int | None], object] | None = None) -> Path:
    """Download a file unless it exists.

    The download goes to ``<target>.part``; an interrupted download is resumed. The file is renamed when it is
    complete: of the length that the server gave and, for a zip archive, with every member's checksum right.

    Parameters
    ----------
    url
        Where the file is.
    target
        Where it goes.
    progress
        Called with the bytes there are so far and the bytes there will be (None if unknown).

    Returns
    -------
    Path
        `target`.
    """
    if target.is_file():
        return target
    if not _allowed.get():
        raise NotDownloadedError(f"{target} was not found, and downloads are not allowed here")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _receive(url, part, progress)
        except _CannotResume:
            part.unlink()
            _receive(url, part, progress)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InputError(
            f"{target} was not found, and downloading it failed ({reason}). Its address is {url}: download it, "
            f"on another machine if necessary, and put it at {target}"
        ) from None
    if target.suffix == ".zip":
        try:
            check_zip(part)
        except InputError:
            part.unlink()  # damaged, so it must not be resumed
            raise InputError(
                f"the file downloaded from {url} is not a whole zip archive and was deleted; try again, or put it at "
                f"{target}"
            ) from None
    os.replace(part, target)
    return target


class _CannotResume(Exception):
    """The server cannot resume the download."""


def _receive(url: str, part: Path, progress: Callable[[int, int | None], object] | None) -> None:
    """Append to `part` what it lacks of the file at `url`."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # no bytes after those we have: the file is complete, or another one
            raise _CannotResume from None
        raise
    with response:
        if have and response.status != 206:
            raise _CannotResume
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        with part.open("ab") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                have += len(chunk)
                if progress is not None:
                    progress(have, total)
    if total is not None and have != total:
        raise OSError(f"the connection ended after {have:,} of {total:,} bytes; another attempt resumes there")


def check_zip(archive: Path) -> None:
    """Raise unless `archive` is a zip file of a reasonable size in which every member's checksum is right."""
    try:
        with zipfile.ZipFile(archive) as file:
            _check_members(archive, file.infolist())
            broken = file.testzip()
    except _NOT_A_ZIP as error:
        raise InputError(f"{archive} is not a zip archive: {error}") from None
    if broken is not None:
        raise InputError(f"{archive} is damaged: the checksum of {broken} is wrong")


# What zipfile raises for an archive it cannot read, depending on which of its bytes is wrong.
_NOT_A_ZIP = (
    OSError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    UnicodeError,
    lzma.LZMAError,
    struct.error,
    zlib.error,
)


def _check_members(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise if a member cannot be unpacked, or all of them take more room than `MOST_BYTES` or `MOST_TIMES` allow."""
    for member in members:
        name = short(member.filename)
        if member.flag_bits & 1:
            raise InputError(f"{archive} is refused: {name} is encrypted")
        if member.compress_type not in METHODS:
            raise InputError(f"{archive} is refused: {name} is compressed with method {member.compress_type}")
    unpacked, packed = sum(member.file_size for member in members), archive.stat().st_size
    if unpacked > MOST_BYTES or unpacked > max(MOST_TIMES * packed, MOST_BYTES // 1000):
        raise InputError(
            f"{archive} is refused: it unpacks to {unpacked:,} bytes; accepted: up to {MOST_BYTES:,}, and up to "
            f"{MOST_TIMES} times the size of the archive, which is {packed:,}"
        )


def extract_zip(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder, which appears when it is complete or, if it is there, gets the files one by one.

    An archive with a path that leads outside the folder, or with a link, is refused before anything is written.
    """
    check_zip(archive)
    with zipfile.ZipFile(archive) as file:
        members = file.infolist()
        for member in members:
            parts = Path(member.filename.replace("\\", "/")).parts
            if Path(member.filename).is_absolute() or ".." in parts or ":" in member.filename:
                raise InputError(
                    f"{archive} is refused: {member.filename!r} leads outside the folder it is unpacked to"
                )
            if stat.S_ISLNK(member.external_attr >> 16):
                raise InputError(f"{archive} is refused: {member.filename!r} is a link")
        fresh = not folder.exists()
        unpacked = folder.with_name(folder.name + f".part{os.getpid()}") if fresh else folder
        try:
            unpacked.mkdir(parents=True, exist_ok=True)
            try:
                file.extractall(unpacked, members)
            except (RuntimeError, ValueError, *_NOT_A_ZIP) as error:
                if isinstance(error, OSError):
                    raise
                raise InputError(f"{archive} cannot be unpacked: {error}") from None
            if fresh:
                os.replace(unpacked, folder)
        finally:
            if fresh:
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(unpacked)


def fetch_folder(
    url: str, folder: Path, *, inside: str, needed: str, progress: Callable[[int, int | None], object] | None = None
) -> None:
    """Download a publisher's folder, which is a zip archive, unless it exists.

    Parameters
    ----------
    url
        The archive's address.
    folder
        Where the folder goes; the archive is kept beside it until it is unpacked.
    inside
        The folder's name in the archive.
    needed
        A file in the folder, by which its presence is tested.
    progress
        As for `fetch`.
    """
    if (folder / needed).is_file():
        return
    if folder.exists():
        raise InputError(f"{folder / needed} was not found, although {folder} exists; its address is {url}")
    archive = folder.parent / url.rsplit("/", 1)[-1]
    try:
        fetch(url, archive, progress=progress)
    except InputError as error:
        raise type(error)(
            f"{folder / needed} was not found. {error}, or unpack it and put its folder {inside} at {folder}"
        ) from None
    unpacked = folder.with_name(f"{folder.name}.unpacked{os.getpid()}")
    try:
        extract_zip(archive, unpacked)
        if not (unpacked / inside / needed).is_file():
            raise InputError(f"{archive} holds no {inside}/{needed}; its address is {url}")
        os.replace(unpacked / inside, folder)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    archive.unlink()
