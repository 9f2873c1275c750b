"""The format of a table's file: what its name promises, and what it is."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from grpe_dgl.data.tables.delimited import DelimitedReader
from grpe_dgl.data.tables.excel import ExcelReader
from grpe_dgl.data.tables.parquet import ParquetReader
from grpe_dgl.data.tables.rows import Reader
from grpe_dgl.data.tables.sdf import SDFReader
from grpe_dgl.data.tables.smi import SmiReader
from grpe_dgl.data.tables.smiles_column import smiles_columns
from grpe_dgl.data.tables.text_file import TextFile, open_bytes
from grpe_dgl.errors import InputError

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".smi", ".sdf")
SUFFIXES = (*_TEXT_ENDINGS, *(ending + ".gz" for ending in _TEXT_ENDINGS), ".parquet", ".xlsx")
ACCEPTED = ".csv, .tsv, .txt, .smi or .sdf, each also with .gz, .parquet or .xlsx"
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_GZIP, _PARQUET, _ZIP, _OLE = b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_SDF, _DELIMITED, _WORKBOOK = "an SDF file", "a text table", "an Excel workbook"
_PROMISED = {".sdf": _SDF, ".parquet": "a Parquet file", ".xlsx": _WORKBOOK, ".smi": "a .smi file"}


def is_table(name: str) -> bool:
    """Return whether a file of this name is a table."""
    return name.lower().endswith(SUFFIXES)


def open_reader(file: Path, sheet: str | None) -> Reader:
    """Return the reader of a file: by its content, with a note if that is not what its name promises.

    Parameters
    ----------
    file
        Its name ends in one of `SUFFIXES`.
    sheet
        Of a workbook; see `ExcelReader`.
    """
    if not is_table(file.name):
        old = "; save it as .xlsx first" if file.suffix.lower() == ".xls" else ""
        raise InputError(f"{file}: accepted are names that end in {ACCEPTED}{old}")
    named_gzip = file.name.lower().endswith(".gz")
    ending = Path(file.name.lower().removesuffix(".gz")).suffix
    compressed = _head(file, compressed=False).startswith(_GZIP)
    head = _head(file, compressed=compressed)
    found, reader = _open(file, head, ending, compressed, sheet)
    if sheet is not None and not isinstance(reader, ExcelReader):
        raise InputError(f"a sheet was chosen, {sheet!r}, and {file} is not an Excel workbook")
    promised = _PROMISED.get(ending, _DELIMITED)
    if found != promised:
        reader.notes.insert(0, f"{file.name} is {found}, whatever its name says, and is read as one")
    elif compressed != named_gzip:
        state = "compressed by gzip" if compressed else "not compressed"
        reader.notes.insert(0, f"{file.name} is {state}, whatever its name says")
    return reader


def _open(file: Path, head: bytes, ending: str, compressed: bool, sheet: str | None) -> tuple[str, Reader]:
    """Return what a file is, as a noun, and its reader."""
    promised = _PROMISED.get(ending, _DELIMITED)
    binary = head.startswith((_PARQUET, _ZIP, _OLE))
    if binary and compressed:
        raise InputError(f"{file} is a compressed binary file; accepted: .parquet and .xlsx as they are, without gzip")
    if head.startswith(_PARQUET):
        return "a Parquet file", ParquetReader(file)
    if head.startswith(_ZIP):
        if not _is_workbook(file):
            raise InputError(f"{file} is a zip archive and no Excel workbook; unpack it first")
        return _WORKBOOK, ExcelReader(file, sheet)
    if head.startswith(_OLE):
        raise InputError(
            f"{file} is a workbook of an old Excel (.xls) or one with a password; save it as .xlsx without a password"
        )
    text = TextFile.detect(file, compressed)
    lines = text.head()
    if not any(line.strip() for line in lines):
        wanted = "a SMILES in every line" if ending == ".smi" else "a first line with the names of the columns"
        raise InputError(f"{file} is empty; accepted: {wanted}")
    if "".join(lines[:20]).lstrip().lower().startswith(("<!doctype", "<html", "<?xml")):
        raise InputError(f"{file} is a web page or another file of markup, not a table")
    if _is_sdf(lines):
        return _SDF, SDFReader(text)
    if ending == ".smi":
        return promised, SmiReader(text)
    reader = DelimitedReader(text, _SEPARATORS.get(ending))
    if promised != _DELIMITED and not smiles_columns(reader.columns):
        raise InputError(f"{file} is not {promised}, whatever its name says")
    return _DELIMITED, reader


def _head(file: Path, *, compressed: bool) -> bytes:
    with open_bytes(file, compressed) as stream:
        return stream.read(16)


def _is_workbook(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return any(name.startswith("xl/workbook") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{file} is a broken zip archive or workbook: {error}") from None


def _is_sdf(lines: Sequence[str]) -> bool:
    """Return whether lines look like SDF: the end of a molecule or of a record, or the version on the counts line."""
    return any(
        line.startswith(("M  END", "$$$$")) or line.rstrip().endswith((" V2000", " V3000")) for line in lines[:2000]
    )
