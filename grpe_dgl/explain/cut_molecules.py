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

    Valences that a cut opens are filled with hydrogens. Where RDKit accepts no such molecule, the descriptors stay
    those of the whole one.

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
    found = []
    with BlockLogs():
        kekulised = Chem.RWMol(molecule)
        try:  # an aromatic ring that is cut could not be read
            Chem.Kekulize(kekulised, clearAromaticFlags=True)
        except Chem.KekulizeException:
            kekulised = Chem.RWMol(molecule)
        cuts = [(atom, None) for atom in range(molecule.GetNumAtoms())] + [(int(i), int(j)) for i, j in bonds]
        for atom, other in cuts:
            try:
                found.append(descriptors_of_molecule(_without(kekulised, atom, other), kind))
            except Exception:  # whatever RDKit raises for one molecule
                found.append(whole)
    return np.array(found, np.float32)


def _without(molecule: Any, atom: int, other: int | None) -> Any:
    """Return the molecule without an atom, or without its bond to another one."""
    left = Chem.RWMol(molecule)
    cut = [near.GetIdx() for near in left.GetAtomWithIdx(atom).GetNeighbors()] if other is None else [atom, other]
    for index in cut:  # a bracketed atom gets no hydrogens else
        left.GetAtomWithIdx(index).SetNoImplicit(False)
    if other is None:
        left.RemoveAtom(atom)
    else:
        left.RemoveBond(atom, other)
    Chem.SanitizeMol(left)
    return left
