import csv
import gzip
from pathlib import Path


def molhiv_smiles(shared: Path, step: int) -> list[str]:
    """Every `step`-th SMILES of OGB's own table of ogbg-molhiv."""
    with gzip.open(shared / "ogb" / "ogbg_molhiv" / "mapping" / "mol.csv.gz", "rt", newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)][::step]


def csv_smiles(shared: Path, name: str) -> list[str]:
    """The SMILES of one of the plain CSV files."""
    with (shared.parent / "csv" / f"{name}.csv").open(newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)]
