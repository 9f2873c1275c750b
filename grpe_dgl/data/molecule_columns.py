"""OGB's nine atom and three bond columns, read from RDKit molecules and gathered for many of them.

The columns equal those of ``ogb.utils.smiles2graph``, atom by atom and bond by bond. They are read faster: what RDKit
can tell of all atoms in one call is asked once per molecule, what must be asked atom by atom avoids RDKit's enums
(which cost five times a number), and equal atoms share one encoded row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdqueries

from grpe_dgl.data.ogb_import import import_ogb

_OGB = import_ogb("ogb.utils.features")

ATOM_COLUMNS: tuple[int, ...] = tuple(_OGB.get_atom_feature_dims())
"""How many values each of OGB's atom columns has: 119, 5, 12, 12, 10, 6, 6, 2, 2."""
BOND_COLUMNS: tuple[int, ...] = tuple(_OGB.get_bond_feature_dims())
"""How many values each of OGB's bond columns has: 5, 6, 2."""
NUM_BOND_TYPES = int(np.prod(BOND_COLUMNS))
"""60: every combination of the bond columns is a type of its own."""

_CHIRALITY, _HYBRIDISATION = 1, 6  # the columns that are filled in after the rest


def ogb_features() -> dict[str, list[Any]]:
    """Return OGB's own lists of the values of every atom and bond column, by OGB's names."""
    return dict(_OGB.allowable_features)


def bond_types(columns: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the one type, 0..59, of each bond: the bond columns (..., 3) read as a mixed-radix number, shape (...)."""
    kind, stereo, conjugated = np.moveaxis(columns.astype(np.int64), -1, 0)
    return (kind * BOND_COLUMNS[1] + stereo) * BOND_COLUMNS[2] + conjugated


def bond_columns(types: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the three bond columns (..., 3) of each type (...): `bond_types` undone."""
    return np.stack(np.unravel_index(types, BOND_COLUMNS), axis=-1).astype(np.int64)


def _codes(names: Sequence[Any], enum: Any) -> dict[Any, int]:
    """Return the place in OGB's list of each value of an RDKit enum; the list's last, "misc", for those not listed."""
    return {value: names.index(name) if name in names else len(names) - 1 for name, value in enum.names.items()}


_CHIRALITY_CODE = _codes(_OGB.allowable_features["possible_chirality_list"], Chem.ChiralType)
_HYBRIDISATION_CODE = _codes(_OGB.allowable_features["possible_hybridization_list"], Chem.HybridizationType)
_BOND_CODE = _codes(_OGB.allowable_features["possible_bond_type_list"], Chem.BondType)
_STEREO_NAMES = _OGB.allowable_features["possible_bond_stereo_list"]  # no "misc" here: other stereo has no code
_STEREO_CODE = {
    value: _STEREO_NAMES.index(name) for name, value in Chem.BondStereo.names.items() if name in _STEREO_NAMES
}
_SP2_CODE = _HYBRIDISATION_CODE[Chem.HybridizationType.SP2]
_SP3_CODE = _HYBRIDISATION_CODE[Chem.HybridizationType.SP3]

_SP2 = Chem.MolFromSmarts("[^2]")
_NEITHER_SP2_NOR_SP3 = Chem.MolFromSmarts("[!^2;!^3]")
_HAS_CHIRAL_TAG = rdqueries.HasChiralTagQueryAtom()


class _AtomRows(dict[tuple[int, ...], bytes]):
    """The encoded row, 9 bytes, of every atom met so far, by what RDKit said of it; made when first asked for."""

    _columns = [
        {value: code for code, value in enumerate(_OGB.allowable_features[name])}
        for name in (
            "possible_atomic_num_list",
            "possible_degree_list",
            "possible_formal_charge_list",
            "possible_numH_list",
            "possible_number_radical_e_list",
            "possible_is_aromatic_list",
            "possible_is_in_ring_list",
        )
    ]

    def __missing__(self, atom: tuple[int, ...]) -> bytes:
        codes = [column.get(value, len(column) - 1) for column, value in zip(self._columns, atom, strict=True)]
        number, degree, charge, hydrogens, radicals, aromatic, ring = codes
        row = bytes([number, 0, degree, charge, hydrogens, radicals, _SP3_CODE, aromatic, ring])
        self[atom] = row
        return row


_ATOM_ROWS = _AtomRows()

# Between atoms of these elements, and with none of these marks in the SMILES, a bond of order 1 is a single bond and
# one of order 1.5 an aromatic bond. Elsewhere a bond may be dative or stranger, and RDKit is asked for its exact type.
_NONMETALS = bytes(number - 1 for number in (1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 34, 35, 53))
_UNUSUAL_MARKS = frozenset("<>|~$")
_TYPE_OF_ORDER = {
    order: _BOND_CODE[kind] * BOND_COLUMNS[1] * BOND_COLUMNS[2]
    for order, kind in (
        (1.0, Chem.BondType.SINGLE),
        (1.5, Chem.BondType.AROMATIC),
        (2.0, Chem.BondType.DOUBLE),
        (3.0, Chem.BondType.TRIPLE),
    )
}
_DOUBLE = _TYPE_OF_ORDER[2.0]


class MoleculeColumns:
    """The columns of the atoms and bonds of the molecules added so far."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.chirality: list[tuple[int, int]] = []  # (atom, code), of the few atoms that have one
        self.sp2: list[int] = []
        self.hybridisation: list[tuple[int, int]] = []  # (atom, code), of the few that are neither SP2 nor SP3
        self.begin: list[int] = []
        self.end: list[int] = []
        self.bonds: list[int] = []
        self.atoms = 0

    def add(self, molecule: Any, smiles: str) -> None:
        """Append one molecule; raises KeyError, having appended nothing, if a bond has no code in OGB's columns."""
        n, first = molecule.GetNumAtoms(), self.atoms
        rows = b"".join(
            [
                _ATOM_ROWS[
                    atom.GetAtomicNum(),
                    atom.GetTotalDegree(),
                    atom.GetFormalCharge(),
                    atom.GetTotalNumHs(),
                    atom.GetNumRadicalElectrons(),
                    atom.GetIsAromatic(),
                    atom.IsInRing(),
                ]
                for atom in map(molecule.GetAtomWithIdx, range(n))  # faster than GetAtoms()
            ]
        )
        self._add_bonds(
            molecule,
            usual=not rows[:: len(ATOM_COLUMNS)].translate(None, _NONMETALS) and _UNUSUAL_MARKS.isdisjoint(smiles),
        )
        self.rows.append(rows)
        self.sp2 += [first + i for (i,) in molecule.GetSubstructMatches(_SP2, False, False, False, n)]
        for (i,) in molecule.GetSubstructMatches(_NEITHER_SP2_NOR_SP3, False, False, False, n):
            self.hybridisation.append((first + i, _HYBRIDISATION_CODE[molecule.GetAtomWithIdx(i).GetHybridization()]))
        for atom in molecule.GetAtomsMatchingQuery(_HAS_CHIRAL_TAG):
            self.chirality.append((first + atom.GetIdx(), _CHIRALITY_CODE[atom.GetChiralTag()]))
        self.atoms += n

    def _add_bonds(self, molecule: Any, usual: bool) -> None:
        begin, end, types = [], [], []
        for bond in map(molecule.GetBondWithIdx, range(molecule.GetNumBonds())):
            begin.append(bond.GetBeginAtomIdx())
            end.append(bond.GetEndAtomIdx())
            if usual:
                kind = _TYPE_OF_ORDER[bond.GetBondTypeAsDouble()]
                stereo = _STEREO_CODE[bond.GetStereo()] if kind == _DOUBLE else 0
            else:
                kind = _BOND_CODE[bond.GetBondType()] * BOND_COLUMNS[1] * BOND_COLUMNS[2]
                stereo = _STEREO_CODE[bond.GetStereo()]
            types.append(kind + stereo * BOND_COLUMNS[2] + bond.GetIsConjugated())
        self.begin += begin
        self.end += end
        self.bonds += types

    def node_feat(self) -> npt.NDArray[np.uint8]:
        """Return the atom columns, shape (N, 9)."""
        feat = np.frombuffer(b"".join(self.rows), np.uint8).reshape(-1, len(ATOM_COLUMNS)).copy()
        feat[self.sp2, _HYBRIDISATION] = _SP2_CODE
        for column, found in ((_HYBRIDISATION, self.hybridisation), (_CHIRALITY, self.chirality)):
            if found:
                atoms, codes = zip(*found, strict=True)
                feat[list(atoms), column] = codes
        return feat

    def edges(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return source, destination and type of each edge: every bond there and back, in RDKit's order."""
        there = np.array([self.begin, self.end], np.int64)  # (2, bonds)
        both = np.stack([there, there[::-1]], axis=2).reshape(2, -1)  # (2, edges)
        return both[0], both[1], np.repeat(np.array(self.bonds, np.int64), 2)
