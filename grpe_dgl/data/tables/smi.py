"""A .smi file: a SMILES in every line, then whatever else, separated by blanks."""

from collections.abc import Iterator

from grpe_dgl.data.tables.rows import Row
from grpe_dgl.data.tables.smiles_column import smiles_columns
from grpe_dgl.data.tables.text_file import TextFile


class SmiReader:
    """A .smi file; its columns are called ``smiles``, ``2``, ``3``, ..., unless its first line has names.

    A line may lack the last columns, and the last one may hold blanks.
    """

    noun = "line"

    def __init__(self, text: TextFile) -> None:
        self._text = text
        self.notes = list(text.notes)
        first = next((line for line in text.head() if line.strip()), "")
        # No SMILES has a comma or a semicolon.
        self._separator = next((s for s in ("\t", ",", ";") if s in first.split(" ")[0].rstrip()), None)
        cells = self._split(first, -1)
        # The first line may lack a name that others have, so there are at least two columns.
        self.columns = ["smiles", *(str(i + 1) for i in range(1, max(len(cells), 2)))] if cells else []
        self._named = bool(cells) and smiles_columns([cells[0].lstrip("#")]) == [0]
        if self._named:
            self.columns = [cells[0].lstrip("#"), *cells[1:]]
            self.notes.append(f"{text.path.name}: the first line has the names of the columns")

    def rows(self) -> Iterator[Row]:
        """Yield every row with its line."""
        width, skip = len(self.columns), self._named
        with self._text.open() as stream:
            for line, text in enumerate(stream, 1):
                if cells := self._split(text, width - 1):
                    if skip:
                        skip = False
                        continue
                    yield line, cells + [""] * (width - len(cells))

    def types(self) -> None:
        """Return None: text has no types."""

    def count(self) -> None:
        """Return None: the lines have to be read."""

    def _split(self, line: str, most: int) -> list[str]:
        if not line.strip():
            return []
        separator = self._separator if self._separator and self._separator in line else None
        cells = line.strip().split(separator, most)
        return [cell.strip() for cell in cells]
