"""Get a publisher's archive and unpack it."""

import contextlib
import contextvars
import http.client
import os
import shutil
import stat
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from grpe_dgl.errors import InputError

_CHUNK = 1 << 20
_TIMEOUT = 60.0  # seconds without a byte


_allowed = contextvars.ContextVar("downloads_allowed", default=True)


@contextlib.contextmanager
def no_downloads() -> Iterator[None]:
    """Make `fetch` refuse inside this block: for commands whose user did not ask for a download."""
    token = _allowed.set(False)
    try:
        yield
    finally:
        _allowed.reset(token)


def fetch(url: str, target: Path, *, progress: Callable[[int, int | None], object] | None = None) -> Path:
    """Download a file unless it is there.

    The download goes to ``<target>.part``; one that was cut off is taken up where it ended. The file gets its name when
    it is whole: as long as the publisher said and, for a zip archive, with every member's checksum right.

    Parameters
    ----------
    url
        Where the file is.
    target
        Where it goes.
    progress
        Called with the bytes there are so far and the bytes there will be (None if the publisher does not say).

    Returns
    -------
    Path
        `target`.
    """
    if target.is_file():
        return target
    if not _allowed.get():
        raise InputError(f"{target} is not there, and nothing is downloaded unasked")
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
            f"{target} is not there, and downloading it failed ({reason}). It comes from {url}: get it where there is "
            f"a network and put it at {target}"
        ) from None
    if target.suffix == ".zip":
        try:
            check_zip(part)
        except InputError:
            part.unlink()  # nothing in it can be trusted, so nothing is taken up
            raise InputError(
                f"what {url} sent is not a whole zip archive, and was thrown away; try again, or put the archive at "
                f"{target}"
            ) from None
    os.replace(part, target)
    return target


class _CannotResume(Exception):
    """The publisher does not go on where the download ended."""


def _receive(url: str, part: Path, progress: Callable[[int, int | None], object] | None) -> None:
    """Append to `part` what it lacks of the file at `url`."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # nothing after what we have: it is whole, or it is not the same file
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
        raise OSError(f"the connection ended after {have:,} of {total:,} bytes; running it again goes on from there")


def check_zip(archive: Path) -> None:
    """Raise unless `archive` is a zip file in which every member's checksum is right."""
    try:
        with zipfile.ZipFile(archive) as file:
            broken = file.testzip()
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError) as error:
        raise InputError(f"{archive} is not a zip archive: {error}") from None
    if broken is not None:
        raise InputError(f"{archive} is damaged: the checksum of {broken} is wrong")


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
            file.extractall(unpacked, members)
            if fresh:
                os.replace(unpacked, folder)
        finally:
            if fresh:
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(unpacked)


def fetch_folder(
    url: str, folder: Path, *, inside: str, needed: str, progress: Callable[[int, int | None], object] | None = None
) -> None:
    """Get a publisher's folder, which comes as a zip archive, unless it is there.

    Parameters
    ----------
    url
        The archive's address.
    folder
        Where the folder goes; the archive is kept beside it until it is unpacked.
    inside
        What the folder is called in the archive.
    needed
        A file, within the folder, that shows whether it is there.
    progress
        As for `fetch`.
    """
    if (folder / needed).is_file():
        return
    if folder.exists():
        raise InputError(f"{folder / needed} is not there, though {folder} is; it comes from {url}")
    archive = folder.parent / url.rsplit("/", 1)[-1]
    try:
        fetch(url, archive, progress=progress)
    except InputError as error:
        raise InputError(
            f"{folder / needed} is not there. {error}, or unpack it and put its folder {inside} at {folder}"
        ) from None
    unpacked = folder.with_name(f"{folder.name}.unpacked{os.getpid()}")
    try:
        extract_zip(archive, unpacked)
        if not (unpacked / inside / needed).is_file():
            raise InputError(f"{archive} holds no {inside}/{needed}; it comes from {url}")
        os.replace(unpacked / inside, folder)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    archive.unlink()
