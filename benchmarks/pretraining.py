"""Linear probes of encoders: ``python -m benchmarks.pretraining DIR base own.ckpt``.

What does an encoder know before it is fine-tuned? A linear model (ridge or logistic regression, its penalty chosen on
the validation rows) is fitted to the fingerprints of the training molecules of every table in DIR, on scaffold splits,
and measured on test. Beside it stand the same probes of Morgan fingerprints
(2,048 bits, radius 2) and of RDKit's descriptors.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import report
from benchmarks.tables import Table, tables_of
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.molecules.descriptors import descriptors_of_smiles
from grpe_dgl.inference.predictor import Predictor

MORGAN, DESCRIPTORS = "Morgan bits", "RDKit descriptors"
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
Floats = npt.NDArray[np.float64]


def morgan(smiles: list[str]) -> Floats:
    """Return Morgan fingerprints, (molecules, 2048)."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], np.float64)


def descriptors(smiles: list[str]) -> Floats:
    """Return RDKit's descriptors, missing ones 0, (molecules, D)."""
    return np.nan_to_num(descriptors_of_smiles(smiles).astype(np.float64))


def vectors_of(name: str, smiles: list[str], layers: int) -> Floats:
    """Return the vectors of molecules: Morgan bits, descriptors, or fingerprints of a model, (molecules, D)."""
    if name == MORGAN:
        return morgan(smiles)
    if name == DESCRIPTORS:
        return descriptors(smiles)
    return Predictor(load_checkpoint(name), source=name).fingerprint(smiles, layers=layers).astype(np.float64)


def predict(table: Table, x: dict[str, Floats], y: dict[str, Floats], split: str, penalty: float) -> Floats:
    """Fit a linear model to the training rows with a penalty and predict a split, (rows, targets)."""
    columns = []
    for t in range(len(table.targets)):
        known = ~np.isnan(y["train"][:, t])
        inputs, labels = x["train"][known], y["train"][known, t]
        if table.is_binary:
            model = LogisticRegression(C=1 / penalty, max_iter=200).fit(inputs, labels)
            columns.append(model.predict_proba(x[split])[:, 1])
        else:
            columns.append(Ridge(penalty * len(inputs)).fit(inputs, labels).predict(x[split]))
    return np.stack(columns, 1)


def rows_of(table: Table) -> dict[str, list[int]]:
    """Return the rows of each split, in the order of the table; rows that cannot be read are in none."""
    return {split: sorted(int(i) for i in index) for split, index in table.split.items()}


def probe(table: Table, vectors: dict[str, Floats]) -> float:
    """Return the score on test of a linear model of `vectors`, for each split (rows, D)."""
    rows = rows_of(table)
    scale = StandardScaler().fit(vectors["train"])
    x = {split: np.clip(scale.transform(own), -5, 5) for split, own in vectors.items()}
    cells = {split: [[table.rows[i][name] for name in table.targets] for i in own] for split, own in rows.items()}
    y = {
        split: np.array([[float(cell) if cell else np.nan for cell in row] for row in own])
        for split, own in cells.items()
    }
    sign = 1 if table.is_binary else -1
    valid = [table.score(predict(table, x, y, "valid", penalty), rows["valid"]) for penalty in PENALTIES]
    best = PENALTIES[int(np.argmax([sign * score for score in valid]))]
    return table.score(predict(table, x, y, "test", best), rows["test"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, metavar="DIR", help="holds tables, NAME.csv")
    parser.add_argument("models", nargs="*", help="checkpoints, or names of shipped models")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tables; default: all of DIR")
    parser.add_argument("--layers", type=int, default=3, help="of the fingerprint")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        tables = [Table(path, Path(scratch)) for path in tables_of(options.tables, options.only)]
        for name in (MORGAN, DESCRIPTORS, *options.models):
            row: dict[str, object] = {"vectors": name}
            for table in tables:
                vectors = {}
                for split, own in rows_of(table).items():
                    smiles = [table.rows[i]["smiles"] for i in own]
                    vectors[split] = np.nan_to_num(vectors_of(name, smiles, options.layers))
                row[table.name] = f"{probe(table, vectors):.3f}"
            rows.append(row)
    report("linear probes on test: RMSE, or mean area under the ROC curve", rows)


if __name__ == "__main__":
    main()
