"""The tables of a comparison: runs on the same data with the same metric, one row for each model."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS, Metric
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.workflows.compare.paired_test import FEWEST_SEEDS, paired_test
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.runs import Excluded, Run

RANKED = ("test", "valid", "train")
"""The splits by which rows are ordered, the first that every row was measured on."""
_UNRECORDED = "unrecorded"


@dataclass(frozen=True)
class Table:
    """Models that can be compared: trained on the same graphs, labels and splits, and measured by the same metric."""

    dataset: str
    metric: Metric
    split: str
    """The split that orders the rows and that the paired test is about."""
    rows: tuple[Row, ...]
    """The best first; those without a finite mean last."""
    data: dict[str, str] | None
    """The SHA-256 of each of the dataset's arrays; None if the runs do not record them."""
    notes: tuple[str, ...] = ()

    @property
    def has_tests(self) -> bool:
        """Whether a pair of rows has enough seeds in common."""
        return any(row.test is not None and row.test.p is not None for row in self.rows)


def make_tables(runs: Sequence[Run]) -> tuple[list[Table], list[Excluded]]:
    """Return the tables of runs, in the order in which their data first occurs, and runs that are there twice."""
    groups: dict[Any, list[Run]] = {}
    identities: dict[Any, dict[str, str] | None] = {}
    for run in runs:
        arrays = _arrays(run)
        # Without the hashes only the name of the dataset is known, so such runs are not mixed with others.
        data = (_UNRECORDED, run.results.get("dataset")) if arrays is None else frozenset(arrays.items())
        groups.setdefault((run.metric, data), []).append(run)
        identities[run.metric, data] = arrays
    tables, excluded = [], []
    for key, group in groups.items():
        models, twice = _models(group)
        excluded += twice
        tables.append(_table(group[0], models, identities[key]))
    return [_with_notes(table, tables) for table in tables], excluded


def _arrays(run: Run) -> dict[str, str] | None:
    """Return the hashes of the data of a run; those of earlier versions are in the checkpoint."""
    recorded = (run.results.get("data") or {}).get("arrays")
    if isinstance(recorded, dict) and recorded:
        return {str(name): str(value) for name, value in recorded.items()}
    best = RunFolder(run.folder).best
    if "data" in run.results or not best.exists():
        return None
    from grpe_dgl.checkpoint.file import load_checkpoint  # loads torch

    try:
        identity = load_checkpoint(best).data_identity
    except (InputError, OSError):
        return None
    return None if identity is None else dict(identity.arrays)


def _models(runs: Sequence[Run]) -> tuple[list[list[Run]], list[Excluded]]:
    """Return the runs of each model, and runs that are copies of others.

    Runs with the same settings are one model. If a seed occurs twice with other numbers, the experiments are kept
    apart: the same training was repeated with another version or on another machine.
    """
    models: list[list[Run]] = []
    excluded = []
    for run in runs:
        same = [model for model in models if run.same_model(model[0])]
        copy = next((other for model in same for other in model if _is_copy(run, other)), None)
        if copy is not None:
            reason = f"it is a copy of {copy.folder}: same settings, seed and numbers"
            excluded.append(Excluded(run.folder, reason))
            continue
        fitting = [model for model in same if all(other.seed != run.seed for other in model)]
        own = [model for model in fitting if model[0].root == run.root]
        if own or fitting:
            (own or fitting)[0].append(run)
        else:
            models.append([run])
    return models, excluded


def _is_copy(run: Run, other: Run) -> bool:
    keys = ("seed", "metric", "epochs", "updates", "best_epoch")
    return all(run.results.get(key) == other.results.get(key) for key in keys) and repr(run.results["splits"]) == repr(
        other.results["splits"]
    )  # repr: NaN is not equal to itself


def _table(first: Run, models: Sequence[Sequence[Run]], arrays: dict[str, str] | None) -> Table:
    metric = METRICS[first.metric]
    rows = [Row("", tuple(sorted(model, key=lambda run: run.seed))) for model in models]
    rows = [dataclasses.replace(row, name=name) for row, name in zip(rows, _names(rows), strict=True)]
    known = [set.intersection(*(set(run.results["splits"]) for run in row.runs)) for row in rows]
    shared = set.intersection(*known)
    split = next((split for split in RANKED if split in shared), None) or next(
        iter(sorted(shared)), next(iter(first.results["splits"]))
    )

    def rank(row: Row) -> tuple[bool, float]:
        value = row.splits[split].mean if split in row.splits else math.nan
        return not math.isfinite(value), 0.0 if not math.isfinite(
            value
        ) else -value if metric.higher_is_better else value

    rows.sort(key=rank)
    if not rank(rows[0])[0]:
        best = rows[0].splits[split].by_seed
        rest = [
            dataclasses.replace(row, test=paired_test(best, row.splits[split].by_seed)) if split in row.splits else row
            for row in rows[1:]
        ]
        rows = [rows[0], *rest]
    return Table(str(first.results.get("dataset") or "unknown"), metric, split, tuple(rows), arrays)


def _names(rows: Sequence[Row]) -> list[str]:
    """Return a name for each row that no other one has: recipe and variant, then the family, then the folder."""
    names = [row.runs[0].name for row in rows]
    for more in (_family, _experiment, _folder, _run):
        repeated = {name for name in names if names.count(name) > 1}
        added = {
            name: len({more(row) for row, own in zip(rows, names, strict=True) if own == name}) for name in repeated
        }
        names = [
            f"{name} ({more(row)})" if added.get(name, 1) > 1 else name for row, name in zip(rows, names, strict=True)
        ]
    return names


def _family(row: Row) -> str:
    return row.family or "unknown family"


def _experiment(row: Row) -> str:
    return row.runs[0].root.name


def _folder(row: Row) -> str:
    return str(row.runs[0].root)


def _run(row: Row) -> str:
    return str(row.runs[0].folder)


def _with_notes(table: Table, tables: Sequence[Table]) -> Table:
    """Return the table with sentences about what could mislead."""
    notes = []
    if table.data is None:
        notes.append("these runs do not record which data they were trained on: only the dataset's name is known")
    for other in tables[: tables.index(table)]:
        if other.dataset == table.dataset:
            notes.append(f"not in the table above: {_what_differs(table, other)}")
            break
    batch_sizes = {run.recipe.training.batch_size for row in table.rows for run in row.runs if run.recipe is not None}
    if table.metric.per_batch and len(batch_sizes) > 1:
        sizes = ", ".join(map(str, sorted(batch_sizes)))
        notes.append(f"{table.metric.name} is a mean over batches, and the runs have batches of {sizes} graphs")
    machines = list(dict.fromkeys(machine for row in table.rows for machine in row.machines))
    if len(machines) > 1:
        notes.append(f"seconds and memory are of different machines or threads: {'; '.join(machines)}")
    if any((run.results.get("peak_memory") or {}).get("since") == "process" for row in table.rows for run in row.runs):
        notes.append("peak memory is that of the whole process, earlier runs included: this system does not reset it")
    undefined = [row.name for row in table.rows if row.test is not None and row.test.p is None]
    if undefined and any(len(row.runs) >= FEWEST_SEEDS for row in table.rows):
        notes.append(f"no paired test with fewer than {FEWEST_SEEDS} matching seeds: {', '.join(undefined)}")
    notes += [f"{row.name}: {note}" for row in table.rows for note in row.notes]
    return dataclasses.replace(table, notes=tuple(notes))


def _what_differs(table: Table, other: Table) -> str:
    if table.data is None or other.data is None:
        return "whether the data are the same is not known"
    if table.data == other.data:
        return f"the metric is {table.metric.name} instead of {other.metric.name}"
    from grpe_dgl.data.identity import DataIdentity  # loads torch

    parts = DataIdentity(table.data, None).differences(DataIdentity(other.data, None))
    return f"the data differ in {' and '.join(parts)}"
