"""The facts of OGB's molecule datasets, from the table in the package ogb, read without importing it."""

import csv
import importlib.util
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema, Task, known_schema

_KINDS = {"binary classification": "binary", "regression": "regression"}
_ONE_TARGET = {"ogbg-molhiv": ("HIV_active",)}  # as in OGB's file of molecules


def molecule_datasets() -> dict[str, dict[str, str]]:
    """Return the entries of OGB's table for each of its molecule datasets, by name."""
    package = importlib.util.find_spec("ogb")
    assert package is not None and package.origin is not None  # a requirement of this package
    master_csv = Path(package.origin).parent / "graphproppred" / "master.csv"
    with master_csv.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = {name: {row[0]: row[i] for row in rows} for i, name in enumerate(header) if i}
    return {name: entry for name, entry in table.items() if name.startswith("ogbg-mol")}


def full_name(name: str) -> str:
    """Return OGB's name of a dataset that may be called without its ``ogbg-``."""
    return name if name.startswith("ogbg-") else f"ogbg-{name}"


def entry_of(name: str) -> dict[str, str]:
    """Return the entry of one of OGB's molecule datasets, or raise an InputError that lists them."""
    table = molecule_datasets()
    if full_name(name) not in table:
        raise InputError(f"OGB has no molecule dataset {full_name(name)!r}; accepted: {', '.join(table)}")
    return table[full_name(name)]


def schema_of(name: str, targets: tuple[str, ...] | None = None) -> Schema:
    """Return the schema of one of OGB's molecule datasets; targets are numbered where their names are not given."""
    entry = entry_of(name)
    kind = _KINDS[entry["task type"]]
    if targets is None:
        targets = _ONE_TARGET.get(full_name(name)) or tuple(f"target {i}" for i in range(int(entry["num tasks"])))
    task = Task(
        level="graph", kind=kind, targets=targets, metric=entry["eval metric"], standardise=kind == "regression"
    )
    return known_schema("ogb", name=full_name(name), task=task)
