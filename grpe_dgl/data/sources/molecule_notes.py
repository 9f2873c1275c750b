"""What a user should know of the molecules of a table before they become graphs."""

import re
from collections.abc import Sequence

from grpe_dgl.data.molecules.standardise import has_fragments
from grpe_dgl.data.tables.smiles_column import COLUMN_NAMES, plain_name
from grpe_dgl.messages import Note, counted

_ISOTOPE = re.compile(r"\[[0-9]")


class MoleculeScan:
    """Counts molecules with properties that a user should know of, cell by cell."""

    def __init__(self) -> None:
        self._salts = self._isotopes = 0

    def add(self, cell: str) -> None:
        """Add the SMILES of one row."""
        self._salts += has_fragments(cell)
        self._isotopes += bool(_ISOTOPE.search(cell))

    def notes(self, *, standardised: bool) -> list[str]:
        """Return a sentence for each property that was found."""
        notes: list[str] = []
        if self._salts:
            has = "has" if self._salts == 1 else "have"
            found = f"{counted(self._salts, 'molecule')} {has} several fragments (salts, mixtures)"
            notes.append(
                Note(f"{found}: the largest is kept, without charges where possible")
                if standardised
                else Note(f"{found}, which are kept as they are", hint="standardise")
            )
        if self._isotopes:
            has = "has" if self._isotopes == 1 else "have"
            notes.append(
                f"{counted(self._isotopes, 'molecule')} {has} isotopes, which are no part of the model's features: it "
                "cannot see them"
            )
        return notes


def note_of_column(columns: Sequence[str], place: int) -> list[str]:
    """Return a note if other columns than the one at `place` could be that of the molecules, too."""
    usual = [i for i, name in enumerate(columns) if plain_name(name) in COLUMN_NAMES and i != place]
    if not usual:
        return []
    others = ", ".join(repr(columns[i]) for i in usual)
    return [Note(f"molecules are read from column {columns[place]!r}; there is also {others}", hint="other_smiles")]
