"""OGB's nine atom and three bond columns, read from RDKit molecules and gathered for many of them.

The columns equal those of ``ogb.utils.smiles2graph``, atom by atom and bond by bond. They are read faster, from RDKit's
binary form (`grpe_dgl.data.molecules.binary`); atoms are asked one by one only in molecules with unusual ones.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from rdkit import Chem

from grpe_dgl.data.molecules.binary import NO_CODE, read_binary
from grpe_dgl.io.ogb_import import import_ogb
from grpe_dgl.kernels.decorator import worth_loading
from grpe_dgl.vocabularies import VOCABULARIES

_OGB = import_ogb("ogb.utils.features")

FEW = 100
"""As many molecules are asked for their atoms and bonds in less time than numba takes to load."""

ATOM_COLUMNS, BOND_COLUMNS = VOCABULARIES["ogb"].node_columns, VOCABULARIES["ogb"].edge_columns


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


def _places(name: str) -> dict[Any, int]:
    """Return the place in OGB's list of each value of a column; its last place is "misc", for what is not listed."""
    return {value: place for place, value in enumerate(_OGB.allowable_features[name])}


_NUMBER, _CHARGE, _HYDROGENS, _RADICALS, _DEGREE = (
    _places(f"possible_{name}_list") for name in ("atomic_num", "formal_charge", "numH", "number_radical_e", "degree")
)
_STEREOS_AND_CONJUGATED = BOND_COLUMNS[1] * BOND_COLUMNS[2]
_SAMPLES = (
    "C[C@H](N)C(=O)[O-]", "F/C=C/[13CH3]", "c1cc[nH]c1.[Na+].[2H]O", "O=S(=O)(N)C#N", "[CH2]C1CC2(C1)OCO2",
    "Cl[Pt](Cl)(<-[NH3])<-[NH3]", "F[P-](F)(F)(F)(F)F", "[H]/N=C\\Br", "C" * 260 + "1CC1",
)  # fmt: skip
"""Molecules with everything that the binary form has a byte for, which show whether it is the one we know."""


def _by_byte(codes: Iterable[tuple[int, int]], otherwise: int) -> npt.NDArray[np.uint8]:
    """Return the code of each byte, (256,)."""
    table = np.full(256, otherwise, np.uint8)
    for value, code in codes:
        table[value & 0xFF] = code
    return table


@functools.cache
def _codes_by_byte() -> npt.NDArray[np.uint8] | None:
    """Return the table that `read_binary` takes; None if this RDKit's binary form is another one."""
    table = np.stack(
        [
            _by_byte(((value, place) for value, place in _NUMBER.items() if value != "misc"), len(_NUMBER) - 1),
            _by_byte(((int(value), code) for value, code in _CHIRALITY_CODE.items()), NO_CODE),
            _by_byte(((value, place) for value, place in _CHARGE.items() if value != "misc"), len(_CHARGE) - 1),
            _by_byte(((value, place) for value, place in _RADICALS.items() if value != "misc"), len(_RADICALS) - 1),
            _by_byte(((int(value), code) for value, code in _HYBRIDISATION_CODE.items()), NO_CODE),
            _by_byte(((int(value), code) for value, code in _BOND_CODE.items()), NO_CODE),
            _by_byte(((int(value), code) for value, code in _STEREO_CODE.items()), NO_CODE),
        ]
    )
    for smiles in _SAMPLES:
        molecule = Chem.MolFromSmiles(smiles)
        fast, slow = MoleculeColumns(table), MoleculeColumns(None)
        fast.add(molecule)
        slow.add(molecule)
        edges_alike = np.array_equal(np.stack(fast.edges()), np.stack(slow.edges()))
        if fast.asked or not edges_alike or not np.array_equal(fast.node_feat(), slow.node_feat()):
            return None
    return table


class MoleculeColumns:
    """The columns of the atoms and bonds of the molecules added so far.

    Parameters
    ----------
    codes
        The table that `grpe_dgl.data.molecules.binary.read_binary` takes; None asks every atom and bond instead.
    """

    def __init__(self, codes: npt.NDArray[np.uint8] | None) -> None:
        self._codes = codes
        self._feat = np.empty((1024, len(ATOM_COLUMNS)), np.int16)  # hydrogens and degrees as they are
        self._bonds = np.empty((3, 1024), np.int64)  # both atoms of each, counted within its molecule, and its type
        self.num_atoms = 0
        self.num_bonds = 0
        self.asked = 0
        """How many molecules were not read from the binary form."""

    @classmethod
    def new(cls, molecules: int) -> Self:
        """Return columns without molecules, for the fastest way to add as many as `molecules`."""
        return cls(_codes_by_byte() if worth_loading(molecules, FEW) else None)

    def add(self, molecule: Any) -> None:
        """Append one molecule.

        Raises a KeyError if a bond has no code in OGB's columns, or whatever RDKit does, having appended nothing.
        """
        n, m = molecule.GetNumAtoms(), molecule.GetNumBonds()
        if self.num_atoms + n > len(self._feat):
            self._feat = np.concatenate([self._feat, np.empty((len(self._feat) + n, len(ATOM_COLUMNS)), np.int16)])
        if self.num_bonds + m > self._bonds.shape[1]:
            self._bonds = np.concatenate([self._bonds, np.empty((3, self._bonds.shape[1] + m), np.int64)], 1)
        if not self._read(molecule, n, m):
            self._ask(molecule, n, m)
            self.asked += 1
        self.num_atoms += n
        self.num_bonds += m

    def _read(self, molecule: Any, n: int, m: int) -> bool:
        """Write a molecule's columns from its binary form; return False if that is not understood."""
        if self._codes is None:
            return False
        data = np.frombuffer(molecule.ToBinary(0), np.uint8)
        first = self.num_atoms, self.num_bonds
        return bool(read_binary(data, self._codes, self._feat, self._bonds, *first, n, m))

    def _ask(self, molecule: Any, n: int, m: int) -> None:
        """Write a molecule's columns as its atoms and bonds return them."""
        for row, atom in zip(self._feat[self.num_atoms : self.num_atoms + n], molecule.GetAtoms(), strict=True):
            row[:] = (
                _NUMBER.get(atom.GetAtomicNum(), len(_NUMBER) - 1),
                _CHIRALITY_CODE[atom.GetChiralTag()],
                atom.GetDegree(),
                _CHARGE.get(atom.GetFormalCharge(), len(_CHARGE) - 1),
                atom.GetTotalNumHs(),
                _RADICALS.get(atom.GetNumRadicalElectrons(), len(_RADICALS) - 1),
                _HYBRIDISATION_CODE[atom.GetHybridization()],
                atom.GetIsAromatic(),
                atom.IsInRing(),
            )
        for place, bond in enumerate(molecule.GetBonds(), self.num_bonds):
            kind, stereo = _BOND_CODE[bond.GetBondType()], _STEREO_CODE[bond.GetStereo()]
            kind = kind * _STEREOS_AND_CONJUGATED + stereo * BOND_COLUMNS[2] + bond.GetIsConjugated()
            self._bonds[:, place] = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), kind

    def node_feat(self) -> npt.NDArray[np.uint8]:
        """Return the atom columns, shape (N, 9)."""
        feat = self._feat[: self.num_atoms].copy()
        # RDKit's total degree is the number of neighbours in the graph and of the hydrogens that are not nodes.
        feat[:, 2] = np.minimum(feat[:, 2] + feat[:, 4], len(_DEGREE) - 1)
        feat[:, 4] = np.minimum(feat[:, 4], len(_HYDROGENS) - 1)
        return feat.astype(np.uint8)

    def edges(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return source, destination and type of each edge: every bond there and back, in RDKit's order."""
        begin, end, types = self._bonds[:, : self.num_bonds]
        there, back = np.stack([begin, end], 1).ravel(), np.stack([end, begin], 1).ravel()
        return there, back, np.repeat(types, 2)
