"""Predict molecules with an exported model; needs numpy, rdkit and onnxruntime, and nothing of grpe-dgl.

    python onnx_predict.py model/ CCO c1ccccc1

`model/` is what `grpe export CKPT --out model/` wrote. Prints CSV with the columns of `grpe predict`.
"""

import argparse
import csv
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from rdkit import Chem, RDLogger
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from rdkit.Chem.MolStandardize.rdMolStandardize import LargestFragmentChooser, Uncharger


def place(values, value):
    """Return where a value is listed; the last place is for those that are not."""
    return values.index(value) if value in values else len(values) - 1


def read(smiles, canonical, standardise):
    """Return the molecule.

    If `standardise`, its largest fragment without charges; if `canonical`, in the one form that does not depend on how
    its SMILES was written.
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or not canonical:
        return molecule
    if standardise:
        molecule = Uncharger().uncharge(LargestFragmentChooser().choose(molecule))
        smiles = None
    for atom in molecule.GetAtoms():
        atom.SetAtomMapNum(0)
    for _ in range(3):
        text = Chem.MolToSmiles(molecule)
        again = None if text == smiles else Chem.MolFromSmiles(text)
        if again is None:
            break
        molecule, smiles = again, text
    return molecule


def atoms(molecule, columns):
    """Return the atom columns, shape (n, 9)."""
    rows = []
    for atom in molecule.GetAtoms():
        found = (
            atom.GetAtomicNum(),
            str(atom.GetChiralTag()),
            atom.GetTotalDegree(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            str(atom.GetHybridization()),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        rows.append([place(column["values"], value) for column, value in zip(columns, found, strict=True)])
    return np.array(rows, np.int64)


def relations(molecule, codes, columns, virtual):
    """Return the relation of every pair, the virtual nodes first, 0 or 1: shape (n + virtual, n + virtual)."""
    n = molecule.GetNumAtoms()
    own, most = codes["num_edge_types"], codes["max_distance"]
    distance = Chem.GetDistanceMatrix(molecule).astype(np.int64)  # 10^8 where there is no path
    inner = np.where(distance > most, codes["far"], own + distance)
    inner[distance > n] = codes["unreachable"]
    kinds, stereos, conjugations = (column["values"] for column in columns)
    for bond in molecule.GetBonds():
        kind, stereo = place(kinds, str(bond.GetBondType())), stereos.index(str(bond.GetStereo()))
        conjugated = conjugations.index(bond.GetIsConjugated())
        code = (kind * len(stereos) + stereo) * len(conjugations) + conjugated
        i, j = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        inner[i, j] = inner[j, i] = code
    relation = np.full((n + virtual, n + virtual), codes["virtual"], np.int64)
    relation[virtual:, virtual:] = inner
    np.fill_diagonal(relation, codes["self"])
    return relation


def descriptors(molecule, names, morgan=None):
    """Return RDKit's descriptors of these names and Morgan counts, shape (D,); NaN for one that cannot be computed."""
    functions, values = dict(Descriptors.descList), []
    for name in names:
        try:
            values.append(float(functions[name](molecule)))
        except Exception:  # RDKit's functions raise errors of any type
            values.append(np.nan)
    found = np.array(values)
    found[~(np.abs(found) <= np.finfo(np.float32).max)] = np.nan
    if morgan is not None:
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=morgan["radius"], fpSize=morgan["size"])
        found = np.append(found, np.log1p(generator.GetCountFingerprintAsNumPy(molecule).astype(np.float32)))
    return found.astype(np.float32)


def signs(vectors):
    """Return the sign of every column that makes its largest entry positive, the first of equals."""
    magnitude = np.abs(vectors)
    largest = (magnitude >= magnitude.max(0) - 1e-5).argmax(0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1, 1)


def singular_vectors(molecule, size):
    """Return the singular vectors of A + I times the roots of their values, left then right: shape (n, 2 size)."""
    n = molecule.GetNumAtoms()
    left, values, right = np.linalg.svd(Chem.GetAdjacencyMatrix(molecule) + np.eye(n))
    found = min(n, size)
    left, right = (x[:, :found] * np.sqrt(values[:found]) for x in (left, right.T))
    encoding = np.zeros((n, 2 * size), np.float32)
    encoding[:, :found], encoding[:, size : size + found] = left * signs(left), right * signs(left)
    return encoding


def laplacian(molecule):
    """Return the normalised Laplacian, shape (n, n)."""
    adjacency = Chem.GetAdjacencyMatrix(molecule).astype(float)
    scale = np.maximum(adjacency.sum(0), 1) ** -0.5
    return np.eye(len(scale)) - scale[:, None] * adjacency * scale


def with_signs(vectors, size):
    """Return eigenvectors with their signs, and zeros where there are fewer than `size`: shape (n, size)."""
    vectors = vectors.real.astype(np.float32)
    return np.pad(vectors * signs(vectors), ((0, 0), (0, size - vectors.shape[1])))


def laplacian_vectors(molecule, size):
    """Return the eigenvectors of the Laplacian after the first: shape (n, size)."""
    values, vectors = np.linalg.eig(laplacian(molecule))  # of equal eigenvalues, other vectors than eigh's
    last = min(len(values) - 1, size)
    lowest = np.argpartition(values, last)[: last + 1]
    return with_signs(vectors[:, lowest[values[lowest].argsort()][1:]], size)


def spectrum_vectors(molecule, size):
    """Return the first eigenvectors of the Laplacian: shape (n, size)."""
    return with_signs(np.linalg.eigh(laplacian(molecule))[1][:, :size], size)


def spectrum_values(molecule, size):
    """Return the first eigenvalues of the Laplacian, NaN where there are fewer: shape (size,)."""
    found = np.linalg.eigh(laplacian(molecule))[0][:size].clip(0)
    return np.pad(found, (0, size - len(found)), constant_values=np.nan)


ENCODINGS = {"svd_self_loops": singular_vectors, "laplacian": laplacian_vectors, "spectrum": spectrum_vectors}


def encodings(molecules, entry, shape):
    """Return the positional encodings of one input that holds them, zeros for padding; `shape` is that of the mask."""
    if entry["name"] == "spectrum_values":
        return np.array([spectrum_values(molecule, entry["size"]) for molecule in molecules], np.float32)
    if entry["name"] not in ENCODINGS:
        sys.exit(f"this example does not compute the input {entry['name']}")
    padded = np.zeros((*shape, entry["shape"][-1]), np.float32)
    for i, molecule in enumerate(molecules):
        padded[i, : molecule.GetNumAtoms()] = ENCODINGS[entry["name"]](molecule, entry["size"])
    return padded


def predict(session, model, molecules):
    """Return the predictions for RDKit molecules, shape (molecules, outputs)."""
    vocabulary = model["vocabulary"]
    virtual = int(model.get("virtual_node", True))  # older files do not state it
    most = virtual + max(molecule.GetNumAtoms() for molecule in molecules)
    nodes = np.zeros((len(molecules), most, len(vocabulary["atom_columns"])), np.int64)
    relation = np.zeros((len(molecules), most, most), np.int64)
    mask = np.zeros((len(molecules), most), bool)
    for i, molecule in enumerate(molecules):
        n = molecule.GetNumAtoms() + virtual
        nodes[i, virtual:n] = atoms(molecule, vocabulary["atom_columns"])
        relation[i, :n, :n] = relations(molecule, model["relations"], vocabulary["bond_columns"], virtual)
        mask[i, :n] = True
    feed = {"nodes": nodes, "relation": relation, "mask": mask}
    for entry in model["inputs"][3:]:
        if entry["name"] == "descriptors":
            rows = [descriptors(molecule, entry["columns"], entry.get("morgan")) for molecule in molecules]
            feed["descriptors"] = np.array(rows)
        else:
            feed[entry["name"]] = encodings(molecules, entry, mask.shape)
    return session.run(["prediction"], feed)[0]


def main():
    """Predict the molecules of the command line, 64 at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder with model.json and model.onnx")
    parser.add_argument("smiles", nargs="+")
    options = parser.parse_args()
    model = json.loads((options.model / "model.json").read_text())
    if "onnx" not in model["files"] or model["vocabulary"]["name"] != "ogb" or model["task"]["level"] != "graph":
        sys.exit("this example takes models of whole molecules, exported as ONNX")
    session = onnxruntime.InferenceSession(options.model / model["files"]["onnx"])
    RDLogger.DisableLog("rdApp.*")
    columns = model["outputs"][0]["columns"]
    canonical, standardise = (model["vocabulary"].get(key, False) for key in ("canonical_smiles", "standardise"))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["smiles", *columns, "error"])
    for first in range(0, len(options.smiles), 64):
        texts = options.smiles[first : first + 64]
        molecules = [read(text, canonical, standardise) for text in texts]
        readable = [molecule for molecule in molecules if molecule is not None and molecule.GetNumAtoms()]
        numbers = iter(predict(session, model, readable) if readable else [])
        for text, molecule in zip(texts, molecules, strict=True):
            if molecule is None or not molecule.GetNumAtoms():
                writer.writerow([text, *[""] * len(columns), "cannot be read"])
            else:
                writer.writerow([text, *(f"{x:.7g}" for x in next(numbers).tolist()), ""])


if __name__ == "__main__":
    main()
