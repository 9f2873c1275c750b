"""Which atom of a SMILES as given each node of its graph is."""

from typing import Any

from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.canonical import canonical_order, output_order
from grpe_dgl.data.molecules.standardise import standard_form, standardise

_GIVEN = "given"


def given_molecule(smiles: str, *, standardised: bool = False) -> tuple[Any, list[int]]:
    """Return the molecule of a SMILES as RDKit reads it, and the number in it of the atom of each node of its graph.

    The graph is that of `grpe_dgl.data.molecules.smiles.graphs_of_smiles` with `one_form`, of the standard form if
    `standardised`; the atoms of other fragments are then not among the nodes. The SMILES must be one that has a graph.
    """
    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if not standardised:
            return molecule, canonical_order(molecule, smiles)
        marked = Chem.Mol(molecule)
        for atom in marked.GetAtoms():
            atom.SetIntProp(_GIVEN, atom.GetIdx())
        chosen = standard_form(marked, smiles)
        order = [atom.GetIntProp(_GIVEN) for atom in chosen.GetAtoms()]
        standard, written = standardise(molecule, smiles)
        if written != smiles:  # it was written and read again
            Chem.MolToSmiles(chosen)
            order = [order[atom] for atom in output_order(chosen)]
        return molecule, [order[atom] for atom in canonical_order(standard, written)]
