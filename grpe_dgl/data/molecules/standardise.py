"""The standard form of a molecule: its largest fragment without charges, by RDKit's `rdMolStandardize`.

Salts are measured as salts, but most of what is predicted about them belongs to the largest part, and the same compound
is written with and without its counter-ion, charged and neutral. `LargestFragmentChooser` keeps the fragment with the
most atoms, `Uncharger` adds and removes hydrogen until charges are neutral where that is possible: nitro groups and
quaternary nitrogen stay as they are. Tautomers, metals and functional groups are not changed.
"""

import functools
from typing import Any

from rdkit import Chem
from rdkit.Chem.MolStandardize import rdMolStandardize

RULE = "RDKit's rdMolStandardize: LargestFragmentChooser().choose, then Uncharger().uncharge"
"""The rule in words, for programs that have to repeat it."""


def has_fragments(smiles: str) -> bool:
    """Return whether a SMILES has several fragments: a salt, a solvate or a mixture."""
    return "." in smiles


def standardise(molecule: Any, smiles: str) -> tuple[Any, str]:
    """Return the standard form of a molecule from RDKit, and the SMILES that it was read from.

    A molecule of one fragment without charges is returned as it is.

    Parameters
    ----------
    molecule
        From RDKit.
    smiles
        What it was read from.
    """
    changed = standard_form(molecule, smiles)
    if changed is molecule:
        return molecule, smiles
    text = Chem.MolToSmiles(changed)
    again = Chem.MolFromSmiles(text)
    return (changed, smiles) if again is None else (again, text)


def standard_form(molecule: Any, smiles: str) -> Any:
    """Return the standard form of a molecule before it is written and read again: its atoms keep their properties."""
    if not has_fragments(smiles) and not any(atom.GetFormalCharge() for atom in molecule.GetAtoms()):
        return molecule
    choose, uncharge = _standardisers()
    changed = uncharge(choose(molecule))
    for atom in changed.GetAtoms():
        atom.SetAtomMapNum(0)
    return changed


@functools.cache
def _standardisers() -> tuple[Any, Any]:
    return rdMolStandardize.LargestFragmentChooser().choose, rdMolStandardize.Uncharger().uncharge
