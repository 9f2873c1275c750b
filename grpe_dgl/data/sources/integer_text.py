"""Parse the integers of CSV text without creating a Python object for each."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled

_BLOCK = 1 << 20


class LineReader:
    """Reads a gzipped file a number of lines at a time, and no further ahead than one block."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._stream = gzip.open(file)
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
        self._rest = b""

    def read(self, lines: int) -> bytes:
        """Return the next `lines` lines; raises if there are fewer."""
        pieces, have, piece = [], 0, self._rest
        while True:
            count = piece.count(b"\n")
            if have + count >= lines:
                break
            pieces.append(piece)
            have += count
            piece = self._block()
            if not piece:
                text = b"".join(pieces)
                unfinished = bool(text) and not text.endswith(b"\n")  # a last line may lack its newline
                if have + unfinished < lines:
                    raise InputError(f"{self._file} ends {lines - have - unfinished} lines too early")
                self._rest = b""
                return text
        end = 0
        if lines > have:
            newlines = np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n"))
            end = int(newlines[lines - have - 1]) + 1
        self._rest = piece[end:]
        return b"".join([*pieces, piece[:end]])

    def read_all(self) -> bytes:
        """Return the rest of the file."""
        pieces = [self._rest]
        while block := self._block():
            pieces.append(block)
        self._rest = b""
        return b"".join(pieces)

    def _block(self) -> bytes:
        try:
            return self._stream.read(_BLOCK)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self._file} is damaged: {error}") from None


def parse_integers(text: bytes, columns: int, file: Path) -> npt.NDArray[np.int64]:
    """Return the non-negative integers of CSV text without a header, shape (rows, columns).

    Parameters
    ----------
    text
        Digits, commas and newlines.
    columns
        How many numbers a line has.
    file
        Where the text is from, for error messages.
    """
    buffer = np.frombuffer(text, np.uint8)
    numbers = np.empty((len(buffer) + 2) // 2, np.int64)
    count, rows, wrong = _parse(buffer, numbers)
    if wrong >= 0:
        found = text[max(0, wrong - 10) : wrong + 10].decode(errors="replace")
        raise InputError(f"{file} has {found!r}; accepted: non-negative integers with commas between them")
    if count != rows * columns:
        raise InputError(f"{file} has {count} numbers in {rows} lines; accepted: {columns} a line")
    return numbers[:count].reshape(rows, columns)


@compiled()
def _parse(text, numbers):  # type: ignore[no-untyped-def]
    """Fill `numbers`; return their count, the number of lines, and where text is not a number (or -1)."""
    count, rows, value = 0, 0, 0
    in_number, in_line = False, False
    for position in range(len(text)):
        character = text[position]
        if 48 <= character <= 57:  # 0..9
            value = value * 10 + (character - 48)
            in_number, in_line = True, True
        elif character in (10, 13, 44):  # newline, carriage return, comma
            if in_number:
                numbers[count] = value
                count += 1
            value, in_number = 0, False
            if character == 10 and in_line:
                rows += 1
                in_line = False
        else:
            return count, rows, position
    if in_number:
        numbers[count] = value
        count += 1
    return count, rows + in_line, -1
