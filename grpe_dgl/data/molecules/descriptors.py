"""Numbers that describe a whole molecule: 178 of RDKit's two-dimensional descriptors in about two milliseconds.

Of RDKit's 217 those are left out that take long and add little (the BCUT and information content descriptors, BertzCT,
QED, SPS), that equal another one (``MaxAbsEStateIndex``, ``fr_COO2``, ...), or that are zero for nearly every molecule.
Descriptors that RDKit computes together, such as the bins of ``SlogP_VSA``, are computed once.

The kind ``rdkit_morgan`` has after these log(1 + c), c how often an atom environment occurs that falls on each of 512
places (Morgan fingerprint of radius 2). Bits tell apart what the descriptors sum up.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import Descriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.EState import EState, EState_VSA
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.standardise import standardise
from grpe_dgl.views import DESCRIPTORS

_LEFT_OUT = {
    *("qed", "SPS", "Ipc", "AvgIpc", "BertzCT", "ExactMolWt", "HeavyAtomMolWt", "NumRadicalElectrons"),
    *("MaxAbsEStateIndex", "MinAbsEStateIndex", "MaxEStateIndex", "MinEStateIndex"),
    *("MaxAbsPartialCharge", "MinAbsPartialCharge"),
    *("NumAmideBonds", "NumUnspecifiedAtomStereoCenters"),
    *("fr_COO2", "fr_Nhpyrrole", "fr_benzene", "fr_nitro_arom_nonortho", "fr_phenol_noOrthoHbond", "fr_C_O_noCOO"),
    *("fr_benzodiazepine", "fr_diazo", "fr_dihydropyridine", "fr_isocyan", "fr_isothiocyan", "fr_prisulfonamd"),
    *("fr_thiocyan", "fr_barbitur", "fr_phos_acid", "fr_phos_ester", "fr_azide"),
}
_ESTATE_BINS, _VSA_BINS = np.array(EState_VSA.estateBins), np.array(EState_VSA.vsaBins)


def _estate(molecule: Any) -> npt.NDArray[np.float64]:
    """Return the bins of EState_VSA and of VSA_EState, and the largest and smallest EState index, shape (23,).

    As RDKit's own functions, which loop over the pairs of atoms in Python.
    """
    table = Chem.GetPeriodicTable()
    intrinsic = np.zeros(molecule.GetNumAtoms())
    for i, atom in enumerate(molecule.GetAtoms()):
        if degree := atom.GetDegree():
            number = atom.GetAtomicNum()
            valence = table.GetNOuterElecs(number) - atom.GetTotalNumHs()
            intrinsic[i] = (4.0 / EState.GetPrincipleQuantumNumber(number) ** 2 * valence + 1) / degree
    distance = Chem.GetDistanceMatrix(molecule, useBO=False, useAtomWts=False) + 1
    near = np.where(distance < 1e6, distance**-2.0, 0.0)
    index = intrinsic + ((intrinsic[:, None] - intrinsic) * near).sum(1)
    area = np.array(rdMolDescriptors._CalcLabuteASAContribs(molecule)[0])
    estate_vsa = np.bincount(np.searchsorted(_ESTATE_BINS, index, side="right"), area, minlength=11)
    vsa_estate = np.bincount(np.searchsorted(_VSA_BINS, area, side="right"), index, minlength=10)
    return np.concatenate([estate_vsa, vsa_estate, [index.max(), index.min()]])


_TOGETHER: tuple[tuple[str, int, Callable[[Any], Sequence[float]]], ...] = (
    ("SlogP_VSA", 12, rdMolDescriptors.SlogP_VSA_),
    ("SMR_VSA", 10, rdMolDescriptors.SMR_VSA_),
    ("PEOE_VSA", 14, rdMolDescriptors.PEOE_VSA_),
)
_ESTATE_NAMES = (
    *(f"EState_VSA{i + 1}" for i in range(11)),
    *(f"VSA_EState{i + 1}" for i in range(10)),
    *("MaxEStateIndex", "MinEStateIndex"),
)
_SINGLE: dict[str, Callable[[Any], float]] = {
    name: function
    for name, function in Descriptors.descList
    if name not in (*_LEFT_OUT, *_ESTATE_NAMES)
    and not name.startswith(("BCUT2D", *(prefix for prefix, _, _ in _TOGETHER)))
}
NAMES: tuple[str, ...] = (
    *_SINGLE,
    *(f"{prefix}{i + 1}" for prefix, size, _ in _TOGETHER for i in range(size)),
    *_ESTATE_NAMES,
)
"""The name of each descriptor, as RDKit has it."""
MORGAN_RADIUS, MORGAN_PLACES = 2, DESCRIPTORS["rdkit_morgan"] - DESCRIPTORS["rdkit"]
if len(NAMES) != DESCRIPTORS["rdkit"]:  # models are stored with this number, in this order
    raise ImportError(f"this RDKit has {len(NAMES)} of the descriptors that models are trained with, not 178")
_LARGEST = float(np.finfo(np.float32).max)


def descriptors(molecule: Any) -> npt.NDArray[np.float32]:
    """Return the descriptors of an RDKit molecule, shape (len(NAMES),).

    A number that RDKit cannot compute (partial charges of some elements) or that is not finite in float32 is NaN.
    """
    values: list[float] = []
    with BlockLogs():
        for function in _SINGLE.values():
            try:
                values.append(float(function(molecule)))
            except Exception:  # RDKit's functions raise errors of any type for molecules they do not cover
                values.append(math.nan)
        for size, together in (*((size, function) for _, size, function in _TOGETHER), (len(_ESTATE_NAMES), _estate)):
            try:
                values.extend(float(value) for value in together(molecule))
            except Exception:
                values.extend([math.nan] * size)
    result = np.array(values)
    result[~(np.abs(result) <= _LARGEST)] = np.nan
    return result.astype(np.float32)


def morgan_counts(molecule: Any) -> npt.NDArray[np.float32]:
    """Return log(1 + count) of the atom environments of an RDKit molecule that fall on each place, (MORGAN_PLACES,)."""
    return np.log1p(_morgan().GetCountFingerprintAsNumPy(molecule).astype(np.float32))


@functools.cache
def _morgan() -> Any:
    return rdFingerprintGenerator.GetMorganGenerator(radius=MORGAN_RADIUS, fpSize=MORGAN_PLACES)


def descriptors_of_molecule(molecule: Any, kind: str) -> npt.NDArray[np.float32]:
    """Return the descriptors of a kind of an RDKit molecule, shape (DESCRIPTORS[kind],)."""
    found = descriptors(molecule)
    return np.concatenate([found, morgan_counts(molecule)]) if kind == "rdkit_morgan" else found


def descriptors_of_smiles(
    smiles: Sequence[str], kind: str = "rdkit", *, standardised: bool = False
) -> npt.NDArray[np.float32]:
    """Return the descriptors of R molecules, shape (R, DESCRIPTORS[kind]); NaN for one that cannot be read.

    Parameters
    ----------
    smiles
        R molecules.
    kind
        A key of `grpe_dgl.views.DESCRIPTORS`.
    standardised
        Whether their standard form is taken; see `grpe_dgl.data.molecules.standardise`.
    """
    result = np.full((len(smiles), DESCRIPTORS[kind]), np.nan, np.float32)
    with BlockLogs():
        for row, text in enumerate(smiles):
            try:
                molecule = Chem.MolFromSmiles(text)
                if standardised and molecule is not None:
                    molecule, _ = standardise(molecule, text)
            except Exception:  # RDKit's C++ code raises errors of any type
                continue
            if molecule is not None and molecule.GetNumAtoms():
                result[row] = descriptors_of_molecule(molecule, kind)
    return result
