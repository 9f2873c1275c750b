"""How many molecules of a table are in more than one split."""

import functools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from grpe_dgl.data import splits
from grpe_dgl.data.molecules.smiles import canonical_key
from grpe_dgl.data.tables.table import Table


def count_shared(
    table: Table,
    place: int,
    structures: npt.NDArray[np.uint64],
    rows: npt.NDArray[np.int64],
    result: Mapping[str, npt.NDArray[np.int64]],
    standardised: bool,
) -> int:
    """Return how many molecules occur in more than one split; only those with equal structure keys are compared."""
    suspects = np.isin(structures, splits.shared(structures, result))
    if not suspects.any():
        return 0
    key_of = functools.lru_cache(maxsize=1 << 16)(functools.partial(canonical_key, standardised=standardised))
    molecules = np.zeros(len(rows), np.uint64)
    graph, graphs = 0, np.flatnonzero(suspects)
    for row, (_, cells) in enumerate(table.rows()):
        if graph < len(graphs) and row == rows[graphs[graph]]:
            molecules[graphs[graph]] = key_of(cells[place])
            graph += 1
    return len(splits.shared(molecules, {name: index[suspects[index]] for name, index in result.items()}))
