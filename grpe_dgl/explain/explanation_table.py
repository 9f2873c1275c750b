"""Explanations as a table: the rows of the input with columns of numbers per atom and per bond."""

import csv
import gzip
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT, parse
from grpe_dgl.data.tables.rows import unused_names
from grpe_dgl.errors import InputError
from grpe_dgl.explain.explanation import Explainer
from grpe_dgl.explain.rows import ExplainedRow
from grpe_dgl.io.atomic_file import atomic_file


def write_explanations(
    chunks: Iterable[Sequence[ExplainedRow]],
    explainer: Explainer,
    columns: Sequence[str],
    types: Callable[[], Sequence[str]],
    path: Path,
    *,
    replace: bool = True,
) -> None:
    """Write a .csv, .csv.gz or .parquet file; it appears whole or not at all.

    Every row keeps its columns and gets more: the explained value, of the gradient method its baseline and, if the
    model reads descriptors, ``descriptor_contribution``, then ``atom_contributions``, and of masking
    ``bond_contributions`` and ``bond_atoms``. The last three are lists, in CSV as JSON with null for no number.

    Parameters
    ----------
    chunks
        The explained rows.
    explainer
        Whose they are.
    columns, types
        Names of the input's columns, and a function that returns their types.
    path, replace
        The file, and whether an existing one is replaced.
    """
    name = path.name.lower()
    added = unused_names(_added(explainer), columns)
    with atomic_file(path, replace=replace) as temporary:
        if name.endswith(".parquet"):
            _write_parquet(chunks, explainer, [*columns], types, added, temporary)
            return
        with (gzip.open if name.endswith(".gz") else open)(temporary, "wt", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*columns, *added])
            for chunk in chunks:
                for row in chunk:
                    writer.writerow([*row.cells, *map(_cell, _values(row, explainer))])


def _added(explainer: Explainer) -> list[str]:
    """Return the names of the columns that rows get."""
    regression = explainer.output.schema.task.kind == "regression"
    value = f"{'predicted' if regression else 'log_odds'}_{explainer.output.name}"
    if explainer.method == "gradient":
        whole = [] if explainer.note is None else ["descriptor_contribution"]
        return [value, "baseline", *whole, "atom_contributions", "error"]
    return [value, "atom_contributions", "bond_contributions", "bond_atoms", "error"]


def _values(row: ExplainedRow, explainer: Explainer) -> list[Any]:
    """Return what stands in the columns of `_added`; None for nothing."""
    found = row.explanation
    if found is None:
        return [None] * (len(_added(explainer)) - 1) + [row.error]
    atoms = [_number(x) for x in found.atoms]
    if explainer.method == "gradient":
        whole = [] if explainer.note is None else [found.descriptors]
        return [found.value, found.baseline, *whole, atoms, None]
    return [found.value, atoms, [_number(x) for x in found.bonds], [list(ends) for ends in found.bond_ends], None]


def _number(value: float) -> float | None:
    return float(f"{value:.7g}") if math.isfinite(value) else None


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.7g}" if isinstance(value, float) else json.dumps(value)


def _write_parquet(
    chunks: Iterable[Sequence[ExplainedRow]],
    explainer: Explainer,
    columns: list[str],
    types: Callable[[], Sequence[str]],
    added: list[str],
    path: Path,
) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("Parquet needs the package pyarrow; install grpe-dgl[parquet]") from None
    number = pyarrow.float64()
    kinds: dict[str, Any] = {
        "atom_contributions": pyarrow.list_(number),
        "bond_contributions": pyarrow.list_(number),
        "bond_atoms": pyarrow.list_(pyarrow.list_(pyarrow.int64())),
        "error": pyarrow.string(),
    }
    own = list(types())
    cell_types = {TEXT: pyarrow.string(), INTEGER: pyarrow.int64(), NUMBER: number}
    names = unused_names(columns, ())  # many programs cannot read a file with two columns of the same name
    schema = pyarrow.schema(
        [
            *((name, cell_types[kind]) for name, kind in zip(names, own, strict=True)),
            *((name, kinds.get(kind, number)) for name, kind in zip(added, _added(explainer), strict=True)),
        ]
    )
    with pyarrow.parquet.ParquetWriter(path, schema) as file:
        for chunk in chunks:
            cells = [parse([row.cells[place] for row in chunk], own[place]) for place in range(len(columns))]
            values = zip(*(_values(row, explainer) for row in chunk), strict=True)
            arrays = [
                pyarrow.array(list(column), field.type) for column, field in zip([*cells, *values], schema, strict=True)
            ]
            file.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
