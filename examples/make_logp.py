"""Make logp.csv: 400 small drug-like molecules put together from fragments, with their logP.

    python make_logp.py > logp.csv

The labels are RDKit's Crippen logP: computed from the structure, not measured. Two runs give the same table.
"""

import csv
import random
import sys

from rdkit import Chem
from rdkit.Chem.Crippen import MolLogP

ROWS = 400
# A ring is joined by its first atom to what stands before it, and at {} to what comes after.
RINGS = (
    "c1ccc({})cc1 c1cccc({})c1 c1ccc({})nc1 c1ccc({})cn1 c1cnc({})nc1 c1csc({})c1 c1coc({})c1 c1nc({})sc1 "
    "c1c[nH]c({})n1 C1CCN({})CC1 C1CN({})CCO1 C1CN({})CCN1 C1CCC({})CC1 C1CC({})CN1 C1CC({})CO1 c1ccc2[nH]c({})cc2c1 "
    "c1ccc2nc({})ccc2c1 c1ccc2oc({})cc2c1 c1ccc2cc({})ccc2c1 C1Cc2cc({})ccc2C1"
).split()
LINKERS = "C CC C(=O) C(=O)N C(=O)NC CO CN CC(=O)N C(C) S(=O)(=O)".split()
BEFORE = " C CC CO CC(=O)N CN(C) CS(=O)(=O) F Cl N#C O=C(O) NC(=O) FC(F)(F)".split(" ")  # the first is nothing
AFTER = (
    "C CC C(C)C C(F)(F)F F Cl Br O OC OC(F)(F)F N N(C)C C#N CO C(=O)O C(=O)OC C(=O)N NC(=O)C S(=O)(=O)N [N+](=O)[O-]"
).split()
UNLIKELY = Chem.MolFromSmarts("[N;R]-[F,Cl,Br,O,N]")


def molecule(draw):
    """Return the SMILES of one or two rings with a group at either end."""
    tail = draw.choice(AFTER)
    if draw.random() < 0.6:
        second = draw.choice(RINGS).replace("1", "3").replace("2", "4")  # numbers that the first ring does not use
        tail = draw.choice(LINKERS) + second.format(tail)
    return draw.choice(BEFORE) + draw.choice(RINGS).format(tail)


def main():
    """Write the table to standard output."""
    draw = random.Random(0)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["smiles", "logP"])
    seen = set()
    while len(seen) < ROWS:
        built = Chem.MolFromSmiles(molecule(draw))
        smiles = Chem.MolToSmiles(built)
        if smiles in seen or built.HasSubstructMatch(UNLIKELY):
            continue
        seen.add(smiles)
        writer.writerow([smiles, f"{MolLogP(built):.3f}"])


if __name__ == "__main__":
    main()
