"""The one form of a molecule: the same atoms, bonds and chirality tags in whatever way its SMILES was written.

RDKit's chirality tags (and OGB's column of them) depend on the order of an atom's neighbours, so
``C[C@H](N)C(=O)O`` and ``N[C@@H](C)C(=O)O``, one molecule, have different tags. Read again from the canonical SMILES,
they have the same.
"""

from collections.abc import Callable, Iterator
from typing import Any

from rdkit import Chem

PASSES = 3
"""At most so many times is a molecule written and read again, until its canonical SMILES stays the same. Once was
enough for all 2,839 molecules with stereo tried; the rest is for one that changes when written again."""


def canonicalise(molecule: Any, smiles: str, read: Callable[[str], Any | None] = Chem.MolFromSmiles) -> tuple[Any, str]:
    """Return a molecule in its canonical form, and the SMILES it was read from.

    Atom map numbers are dropped first: they are labels, and no part of the molecule. A molecule whose canonical SMILES
    cannot be read stays as it is.

    Parameters
    ----------
    molecule
        From RDKit.
    smiles
        What it was read from.
    read
        Returns the molecule of a SMILES, None if it cannot be read.
    """
    *_, (_, canonical, text) = _forms(molecule, smiles, read)
    return canonical, text


def canonical_order(molecule: Any, smiles: str) -> list[int]:
    """Return which atom of a molecule each atom of its canonical form is; arguments as for `canonicalise`."""
    order = list(range(molecule.GetNumAtoms()))
    for written, _, _ in _forms(molecule, smiles, Chem.MolFromSmiles):
        if written is not None:
            order = [order[atom] for atom in output_order(written)]
    return order


def output_order(molecule: Any) -> list[int]:
    """Return the atoms in the order in which RDKit wrote them when it last made a SMILES of the molecule."""
    return list(molecule.GetPropsAsDict(includePrivate=True, includeComputed=True)["_smilesAtomOutputOrder"])


def _forms(molecule: Any, smiles: str, read: Callable[[str], Any | None]) -> Iterator[tuple[Any | None, Any, str]]:
    """Yield every form on the way to the canonical one: the molecule that was written (None at first), and the new."""
    if ":" in smiles and any(atom.GetAtomMapNum() for atom in molecule.GetAtoms()):
        molecule = Chem.Mol(molecule)
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)
    yield None, molecule, smiles
    for _ in range(PASSES):
        text = Chem.MolToSmiles(molecule)
        if text == smiles:
            break
        again = read(text)
        if again is None:
            break
        yield molecule, again, text
        molecule, smiles = again, text
        if "@" not in text and "/" not in text and "\\" not in text:
            break  # without stereo there is nothing left to depend on the order
