"""A text file on disk, plain or gzipped, in whatever encoding."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO, cast

from grpe_dgl.data.tables.encoding import TITLES, detect_encoding
from grpe_dgl.errors import InputError

_HEAD = 1 << 17  # characters from which the form of a file is determined


@dataclass(frozen=True)
class TextFile:
    """A file, how it is compressed, and how its bytes are text."""

    path: Path
    compressed: bool
    encoding: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def detect(cls, path: Path, compressed: bool) -> "TextFile":
        """Return a file with the encoding it is found to have; raises an InputError if it is not text."""
        with open_bytes(path, compressed) as stream:
            encoding = detect_encoding(stream)
        if encoding is None:
            raise InputError(f"{path} is not text; accepted: text in UTF-8, UTF-16 or Latin-1")
        title = TITLES.get(encoding)
        guess = ", as it is not UTF-8" if encoding in ("cp1252", "latin-1") else ""
        notes = [] if title is None else [f"{path.name}: read as {title}{guess}"]
        return cls(path, compressed, encoding, notes)

    @contextmanager
    def open(self) -> Iterator[TextIO]:
        """Yield the text, with its line ends as they are."""
        with reading(self.path):
            with (gzip.open if self.compressed else open)(
                self.path, "rt", encoding=self.encoding, newline=""
            ) as stream:
                yield cast(TextIO, stream)

    def head(self) -> list[str]:
        """Return the first lines, all of them complete."""
        with self.open() as stream:
            text = stream.read(_HEAD)
            more = bool(stream.read(1))
        lines = text.splitlines(keepends=True)
        return lines[:-1] if more and len(lines) > 1 else lines


@contextmanager
def open_bytes(path: Path, compressed: bool) -> Iterator[IO[bytes]]:
    """Yield the bytes of a file, decompressed if it is compressed."""
    with reading(path), (gzip.open if compressed else open)(path, "rb") as stream:
        yield cast("IO[bytes]", stream)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever reading a file raises into an InputError that names the file."""
    try:
        yield
    except UnicodeError as error:
        raise InputError(f"{path} cannot be read as text: {error}") from None
    except (csv.Error, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
