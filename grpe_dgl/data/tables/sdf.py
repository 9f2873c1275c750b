"""SDF: molecules as tables of atoms and bonds, and their properties as columns."""

import re
from collections.abc import Iterator
from typing import Any

from grpe_dgl.data.molecules.no_molecule import NoMolecule
from grpe_dgl.data.tables.rows import Row, unused_names
from grpe_dgl.data.tables.text_file import TextFile

_PROPERTY = re.compile(r"^>.*?<(.+)>")
_END = "$$$$"
_Record = tuple[int, list[str]]  # the line it begins on, its lines


class SDFReader:
    """An SDF file: the column ``smiles`` of its molecules, ``name`` if any has a name, then one for each property.

    A record whose molecule RDKit cannot read is a row like the others; the reason is in place of its SMILES (see
    `grpe_dgl.data.molecules.no_molecule`). Properties that a record does not have are blank.
    """

    noun = "line"

    def __init__(self, text: TextFile) -> None:
        self._text = text
        self.notes = list(text.notes)
        self._names: dict[str, None] = {}
        self._count, self._has_titles = 0, False
        for _, lines in self._records():
            self._count += 1
            self._has_titles |= bool(lines[0].strip())
            self._names |= dict.fromkeys(name for name, _ in _properties(lines))
        properties = unused_names(list(self._names), ["smiles"])
        titles = unused_names(["name"], properties) if self._has_titles else []
        self.columns = ["smiles", *titles, *properties]
        if "smiles" in self._names:
            renamed = properties[list(self._names).index("smiles")]
            self.notes.append(
                f"{text.path.name}: column 'smiles' has the molecules of the records; their property 'smiles' is "
                f"column {renamed!r}"
            )

    def rows(self) -> Iterator[Row]:
        """Yield every record with the line it begins on."""
        for line, lines in self._records():
            found = dict(_properties(lines))
            titles = [lines[0].strip()] if self._has_titles else []
            yield line, [_smiles(lines), *titles, *(found.get(name, "") for name in self._names)]

    def types(self) -> None:
        """Return None: properties have no types."""

    def count(self) -> int:
        """Return the number of records."""
        return self._count

    def _records(self) -> Iterator[_Record]:
        with self._text.open() as stream:
            first, lines = 1, list[str]()
            for number, line in enumerate(stream, 1):
                line = line.rstrip("\r\n")
                if line.rstrip() == _END:
                    # A record of one line or none has no molecule; it still is one, unless nothing is before its end.
                    if any(text.strip() for text in lines):
                        yield first, lines
                    first, lines = number + 1, []
                else:
                    lines.append(line)
            if any(text.strip() for text in lines):
                yield first, lines


def _properties(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a record's properties; a value may have several lines."""
    name, value = None, list[str]()
    for line in lines:
        match = _PROPERTY.match(line) if name is None or not value else None
        if match is not None:
            if name is not None:
                yield name, ""
            name, value = match[1].strip(), []
        elif name is not None:
            if not line.strip():
                yield name, "\n".join(value).strip()
                name, value = None, []
            else:
                value.append(line)
    if name is not None:
        yield name, "\n".join(value).strip()


def _smiles(lines: list[str]) -> str:
    """Return the SMILES of a record's molecule, or the reason why there is none."""
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    end = next((i for i, line in enumerate(lines) if line.startswith("M  END")), None)
    if end is None:
        return NoMolecule("the record has no 'M  END', which ends a molecule")
    block = "\n".join(lines[: end + 1]) + "\n"
    with BlockLogs():
        try:
            molecule: Any = Chem.MolFromMolBlock(block)
            if molecule is not None:
                return str(Chem.MolToSmiles(molecule)) or NoMolecule("the record's molecule has no atoms")
            molecule = Chem.MolFromMolBlock(block, sanitize=False)
            problems = [] if molecule is None else Chem.DetectChemistryProblems(molecule)
        except Exception as error:  # whatever RDKit raises for one molecule
            problem = " ".join(str(error).split())[:200]
            return NoMolecule(f"the record's molecule cannot be read: RDKit fails with {problem}")
    reason = problems[0].Message() if problems else "its atoms and bonds are not as the format has them"
    return NoMolecule(f"the record's molecule cannot be read: {' '.join(reason.split())}")
