"""Morgan fingerprints of molecules as packed bits, and the similarity of each to the nearest of many others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import BitVectToBinaryText
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.standardise import standardise

RADIUS, BITS = 2, 2048
WORDS = BITS // 64
Words = npt.NDArray[np.uint64]


def morgan_fingerprints(smiles: Sequence[str], *, standardised: bool = False) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Return the Morgan fingerprints of R molecules, (R, 32) uint64, and which could be read, (R,).

    Radius 2 and 2,048 bits, as RDKit's `GetMorganGenerator` makes them; no bit is set where a molecule cannot be read.

    Parameters
    ----------
    smiles
        R molecules.
    standardised
        Whether their standard form is taken; see `grpe_dgl.data.molecules.standardise`.
    """
    generator: Any = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    bits = np.zeros((len(smiles), BITS // 8), np.uint8)
    readable = np.zeros(len(smiles), bool)
    with BlockLogs():
        for row, text in enumerate(smiles):
            try:
                molecule = Chem.MolFromSmiles(text)
                if molecule is None:
                    continue
                if standardised:
                    molecule, _ = standardise(molecule, text)
                bits[row] = np.frombuffer(BitVectToBinaryText(generator.GetFingerprint(molecule)), np.uint8)
                readable[row] = True
            except Exception:  # whatever RDKit raises for one molecule
                continue
    return bits.view(np.uint64), readable
