"""Which rows of a table are in which fold of a cross-validation; what belongs together stays in one fold."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.identity import graph_hashes
from grpe_dgl.data.store.store import Store
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

RULES = ("random", "scaffold", "column")
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FoldPlan:
    """How a cross-validation divides the rows."""

    folds: int
    repeats: int = 1
    split: str = "random"
    """What stays together: ``random``, equal molecules; ``scaffold``, those of a scaffold; ``column``, rows of
    one value in `column`."""
    column: str | None = None
    valid: float = 1 / 9
    """Of the rows outside the fold that is predicted, the share that selects the epoch; 0: the last epoch is taken."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.split not in RULES:
            raise InputError(f"folds by the split {self.split!r}; accepted: {', '.join(RULES)}")
        if (self.split == "column") != (self.column is not None):
            raise InputError("folds by a column, and the name of the column: one of them is missing")
        if self.folds < 2:
            raise InputError(f"folds is {self.folds}; accepted: 2 or more")
        if self.repeats < 1:
            raise InputError(f"repeats is {self.repeats}; accepted: 1 or more")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``folds.json``."""
        return asdict(self)


def fold_groups(store: Store, plan: FoldPlan, table: Table) -> Indices:
    """Return a number per graph, (G,), equal for graphs that stay together; -1 for those in no fold.

    Parameters
    ----------
    store
        The dataset of all rows.
    plan
        The rule.
    table
        Has the column of the rule ``column``.
    """
    if plan.split == "column":
        assert plan.column is not None
        place = table.place(plan.column)
        cells = np.array([cells[place].strip() for _, cells in table.rows()], dtype=object)
        names = cells[np.asarray(store.row, np.int64)]
        found, groups = np.unique(names.astype(str), return_inverse=True)
        return np.where(names == "", -1, groups.astype(np.int64))
    if plan.split == "scaffold":
        standard = store.schema.standardised_molecules
        return _numbered(np.array([_scaffold(store.smiles(graph), standard) for graph in range(len(store))]))
    return _numbered(graph_hashes(store, np.arange(len(store))))


def assign_folds(groups: Indices, folds: int, seed: int, strata: Indices | None = None) -> Indices:
    """Return the fold of each graph, (G,), 0 to folds - 1, of like sizes; -1 for those in no group.

    Groups are taken from the largest to the smallest, in a random order among equals, each into the fold that has the
    fewest graphs.

    Parameters
    ----------
    groups
        From `fold_groups`.
    folds
        How many.
    seed
        Of the random order.
    strata
        (G,): classes whose shares should be like in every fold; None for none.
    """
    used = np.flatnonzero(groups >= 0)
    _, first, group_of, size = np.unique(groups[used], return_index=True, return_inverse=True, return_counts=True)
    if len(size) < folds:
        raise InputError(
            f"{folds} folds of {counted(len(size), 'group')} of rows that stay together; accepted: at most so many"
        )
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(size))
    stratum = np.zeros(len(size), np.int64) if strata is None else strata[used][first]
    order = shuffled[np.lexsort((stratum[shuffled], -size[shuffled]))]
    filled, fold_of_group = np.zeros(folds, np.int64), np.zeros(len(size), np.int64)
    for group in order:
        fold = int(rng.choice(np.flatnonzero(filled == filled.min())))
        fold_of_group[group] = fold
        filled[fold] += size[group]
    result = np.full(len(groups), -1, np.int64)
    result[used] = fold_of_group[group_of]
    return result


def split_of_fold(
    groups: Indices, fold_of: Indices, fold: int, valid: float, seed: int, strata: Indices | None = None
) -> dict[str, Indices]:
    """Return the split whose test rows are one fold; of the others, a share selects the epoch."""
    rest = np.flatnonzero((fold_of >= 0) & (fold_of != fold))
    chosen = np.zeros(len(rest), np.bool_)
    if valid > 0:
        parts = min(max(2, round(1 / valid)), len(rest))
        inner = None if strata is None else strata[rest]
        # Of few large groups one would be too much: then single rows select the epoch, which no result is measured on.
        own = groups[rest] if len(np.unique(groups[rest])) >= parts else np.arange(len(rest))
        chosen = assign_folds(own, parts, seed, inner) == 0
    return {"train": rest[~chosen], "valid": rest[chosen], "test": np.flatnonzero(fold_of == fold)}


def shared_molecules(store: Store, fold_of: Indices) -> int:
    """Return how many molecules are in more than one fold."""
    used = np.flatnonzero(fold_of >= 0)
    pairs = np.unique(np.stack([_numbered(graph_hashes(store, used)), fold_of[used]]), axis=1)
    return int((np.bincount(pairs[0]) > 1).sum())


def _scaffold(smiles: str, standard: bool) -> str:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    from grpe_dgl.data.molecules.smiles import scaffold
    from grpe_dgl.data.molecules.standardise import standardise

    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        return scaffold(standardise(molecule, smiles)[0] if standard else molecule)


def _numbered(values: npt.NDArray[Any]) -> Indices:
    """Return numbers from 0 that are equal where values are equal."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
