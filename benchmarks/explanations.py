"""Do explanations find what is known? Crippen's logP is a sum of contributions of atoms, which RDKit gives.

    python -m benchmarks.explanations --smiles molecules.csv.gz --out /tmp/explanations

Computes logP of the first 10,000 molecules, trains a GRPE of 4 layers of 64 on 8,000 of them, explains test molecules
by both methods, and prints the Pearson correlation over all their atoms with RDKit's contributions (of a heavy atom and
its hydrogens together), and the time. A model that is in the folder already is used again. ``--base 30`` does the same
with the shipped encoder, for three of the descriptors that it predicts.
"""

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from rdkit.rdBase import BlockLogs

import grpe_dgl.data
from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.tables.table import Table
from grpe_dgl.explain.explanation import METHODS, Explainer
from grpe_dgl.pretrained import model_file
from grpe_dgl.recipe import load_recipe
from grpe_dgl.training.run import run

MOLECULES, MOST_ATOMS = 10_000, 60
SETTINGS = {
    "dataset": "crippen",
    "start_from": None,
    "model.descriptors": None,  # logP is one of them
    "model.layers": 4,
    "model.hidden_size": 64,
    "model.ffn_size": 64,
    "model.num_heads": 8,
    "training.learning_rate": 0.002,
    "training.batch_size": 64,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smiles", type=Path, required=True, help="A table with a column of SMILES.")
    parser.add_argument("--out", type=Path, required=True, help="Folder of the dataset and the model.")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--base", type=int, default=0, help="How many are also explained with the shipped encoder.")
    parser.add_argument("--molecules", type=int, default=200, help="How many test molecules are explained.")
    options = parser.parse_args()

    data = make_data(options.smiles, options.out)
    if not (options.out / "run" / "best.ckpt").exists():
        begin = time.monotonic()
        recipe = load_recipe("property", {**SETTINGS, "training.epochs": options.epochs}).fit_to_task(data.schema.task)
        result = run(recipe, data, options.out / "run")
        print(f"trained {options.epochs} epochs in {time.monotonic() - begin:.0f} s: {result['splits']}")
    checkpoint = load_checkpoint(options.out / "run" / "best.ckpt")
    print(f"model of epoch {checkpoint.metrics.get('epoch')}: {checkpoint.metrics}")
    smiles = [data.store.smiles(int(graph)) for graph in data["test"].index[: options.molecules]]
    compare(checkpoint, None, smiles, crippen_contributions)
    if options.base:
        base = load_checkpoint(model_file("base"))
        for target, contributions in KNOWN.items():
            compare(base, target, smiles[: options.base], contributions)


def compare(
    checkpoint: Checkpoint, target: str | None, smiles: list[str], contributions: Callable[[str], npt.NDArray[Any]]
) -> None:
    """Print how both explanations of a model correlate with known contributions of the atoms."""
    known = np.concatenate([contributions(text) for text in smiles])
    for method in METHODS:
        explainer = Explainer(checkpoint, method, target)
        begin, processor = time.monotonic(), time.process_time()
        explanations = [
            one for first in range(0, len(smiles), 64) for one in explainer.explain(smiles[first : first + 64])[1]
        ]
        seconds, processor = time.monotonic() - begin, time.process_time() - processor
        found = np.concatenate([one.atoms for one in explanations if one is not None])
        pearson = np.corrcoef(found, known)[0, 1]
        print(
            f"{explainer.output.name}, {method}: Pearson {pearson:.3f} over {len(known):,} atoms of {len(smiles)} "
            f"molecules, {seconds:.1f} s ({processor:.1f} s of processor time)"
        )
        if method == "gradient":
            gaps = [
                abs(one.atoms.sum() - (one.value - one.baseline)) / abs(one.atoms).sum()
                for one in explanations
                if one is not None
            ]
            print(f"  contributions miss value - baseline by {np.max(gaps):.1e} of the sum of their sizes at most")


def make_data(smiles: Path, out: Path) -> "grpe_dgl.data.Dataset":
    """Return the dataset of molecules with their logP."""
    folder = out / "data" / "crippen"
    if not folder.exists():
        out.mkdir(parents=True, exist_ok=True)
        table = Table(smiles)
        place = table.smiles_place(None)
        rows: list[tuple[str, str]] = []
        with BlockLogs():
            for _, cells in table.rows():
                molecule = Chem.MolFromSmiles(cells[place])
                if molecule is not None and molecule.GetNumAtoms() <= MOST_ATOMS:
                    rows.append((cells[place], f"{rdMolDescriptors.CalcCrippenDescriptors(molecule)[0]:.5f}"))
                if len(rows) == MOLECULES:
                    break
        with (out / "crippen.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("smiles", "logp"), *rows])
        source, _ = csv_source(CSVRequest(file=out / "crippen.csv", targets=("logp",)))
        preprocess(source, folder)
    view = load_recipe("property", SETTINGS).model.view
    return grpe_dgl.data.load(folder, view=view)


def crippen_contributions(smiles: str, column: int = 0) -> npt.NDArray[Any]:
    """Return what every heavy atom with its hydrogens adds to logP, (atoms,); column 1: to molar refractivity."""
    molecule = Chem.MolFromSmiles(smiles)
    whole = Chem.AddHs(molecule)
    found = np.zeros(molecule.GetNumAtoms())
    for atom, parts in zip(whole.GetAtoms(), rdMolDescriptors._CalcCrippenContribs(whole), strict=True):
        owner = atom if atom.GetIdx() < len(found) else atom.GetNeighbors()[0]
        found[owner.GetIdx()] += parts[column]
    return found


def polar_surface(smiles: str) -> npt.NDArray[Any]:
    """Return what every atom contributes to the topological polar surface area, (atoms,)."""
    return np.array(rdMolDescriptors._CalcTPSAContribs(Chem.MolFromSmiles(smiles)))


KNOWN: dict[str, Callable[[str], npt.NDArray[Any]]] = {
    "MolLogP": crippen_contributions,
    "MolMR": lambda smiles: crippen_contributions(smiles, 1),
    "TPSA": polar_surface,
}
"""Targets of the shipped encoder that are sums over atoms."""


if __name__ == "__main__":
    main()
