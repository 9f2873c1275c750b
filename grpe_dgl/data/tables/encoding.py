"""The encoding of a text file: UTF-8, UTF-16 or, where it is neither, Western European."""

import codecs
from typing import IO

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
TITLES = {
    "utf-32": "UTF-32",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (no byte order mark)",
    "utf-16-be": "UTF-16 (no byte order mark)",
    "cp1252": "Windows-1252, a form of Latin-1",
    "latin-1": "Latin-1",
}
"""How messages name encodings other than UTF-8."""
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a\x1b")  # 1A ends a file of MS-DOS
_UNDEFINED = frozenset(b"\x81\x8d\x8f\x90\x9d")  # in Windows-1252
_BLOCK = 1 << 20


def detect_encoding(stream: IO[bytes]) -> str | None:
    """Return the name of the encoding of a stream, which is read to its end; None if it is not text.

    Every byte is tried as UTF-8, because one letter of another encoding may be anywhere. What is not UTF-8 is taken for
    Windows-1252 or Latin-1, which every sequence of bytes can be: a guess, which the caller should mention.
    """
    head = stream.read(_BLOCK)
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head[:4096]:
        return _utf16(head[:4096])
    if not _CONTROL.isdisjoint(head[:4096]):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    block, is_utf8, high = head, True, set[bytes]()
    while block:
        if is_utf8:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_utf8 = False
        high.update(byte for byte in _HIGH if byte in block)
        block = stream.read(_BLOCK)
    if is_utf8:
        try:
            decoder.decode(b"", final=True)
            return "utf-8"
        except UnicodeDecodeError:
            pass
    values = {byte[0] for byte in high}
    return "cp1252" if values and values.isdisjoint(_UNDEFINED) else "latin-1"


_HIGH = tuple(bytes([value]) for value in range(0x80, 0xA0))  # letters in Windows-1252, control characters in Latin-1


def _utf16(head: bytes) -> str | None:
    """Return which UTF-16 a text without a mark is in, by the zero bytes of its ASCII characters."""
    first, second = head[0::2], head[1::2]
    if second.count(0) > 0.4 * len(second) and first.count(0) == 0:
        return "utf-16-le"
    if first.count(0) > 0.4 * len(first) and second.count(0) == 0:
        return "utf-16-be"
    return None
