"""Descriptors of a molecule from which one atom or one bond is left out."""

from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.descriptors import descriptors_of_molecule

Array = npt.NDArray[Any]


def cut_descriptors(molecule: Any, bonds: Array, whole: Array, kind: str) -> Array:
    """Return the descriptors of what is left without each atom, then without each bond, (atoms + bonds, D) float32.

    What is left keeps its hydrogens and its aromaticity, as the nodes of a graph from which one is left out keep their
    features: filled with hydrogens, the open valences would add contributions of their own. A descriptor that RDKit
    cannot compute of it stays that of the whole molecule.

    Parameters
    ----------
    molecule
        From RDKit, of two atoms or more.
    bonds
        (bonds, 2): the two atoms of each bond.
    whole
        (D,): the descriptors of the molecule.
    kind
        A key of `grpe_dgl.views.DESCRIPTORS`.
    """
    found = np.tile(whole, (molecule.GetNumAtoms() + len(bonds), 1))
    with BlockLogs():
        fixed = Chem.RWMol(molecule)
        for atom in fixed.GetAtoms():
            hydrogens = atom.GetTotalNumHs()
            atom.SetNoImplicit(True)
            atom.SetNumExplicitHs(hydrogens)
        cuts = [(number, None) for number in range(molecule.GetNumAtoms())] + [(int(i), int(j)) for i, j in bonds]
        for row, (number, other) in zip(found, cuts, strict=True):
            try:
                values = descriptors_of_molecule(_without(fixed, number, other), kind)
            except Exception:  # whatever RDKit raises for one molecule
                continue
            known = np.isfinite(values)
            row[known] = values[known]
    return found


def _without(molecule: Any, atom: int, other: int | None) -> Any:
    """Return the molecule without an atom, or without its bond to another one."""
    left = Chem.RWMol(molecule)
    if other is None:
        left.RemoveAtom(atom)
    else:
        left.RemoveBond(atom, other)
    left.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(left)
    return left
