"""Which column of a table has the molecules: the names that columns of SMILES have."""

from collections.abc import Sequence

COLUMN_NAMES = (
    "smiles",
    "canonical_smiles",
    "canonicalsmiles",
    "isomeric_smiles",
    "isomericsmiles",
    "mol_smiles",
    "smiles_string",
    "smi",
)
"""What a column of SMILES is called, in small letters and without blanks; the first that a table has is taken."""
ACCEPTED = "smiles, canonical_smiles, isomeric_smiles, mol_smiles or smi, in small or capital letters"


def plain_name(name: str) -> str:
    """Return a column's name in small letters, with ``_`` for blanks, dashes and dots: ``Canonical SMILES `` too."""
    name = name.strip().lower()
    for character in " -.":
        name = name.replace(character, "_")
    return name


def smiles_columns(columns: Sequence[str]) -> list[int]:
    """Return the places of the columns that have the first of `COLUMN_NAMES` that any of them has."""
    plain = [plain_name(name) for name in columns]
    for wanted in COLUMN_NAMES:
        if found := [place for place, name in enumerate(plain) if name == wanted]:
            return found
    return []
