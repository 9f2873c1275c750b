"""Which graphs are for training, validation and test."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError

Indices = npt.NDArray[np.int64]
NAMES = ("train", "valid", "test")
_ALIASES = {"training": "train", "val": "valid", "validation": "valid", "dev": "valid", "testing": "test"}


def check_fractions(fractions: Sequence[float]) -> tuple[float, float, float]:
    """Return the fractions for train, valid and test if they are three, none negative, and add up to 1."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6 or fractions[0] == 0:
        raise InputError(
            f"fractions are {', '.join(f'{part:g}' for part in fractions)}; accepted: three numbers that add up to 1, "
            "for train, valid and test, such as 0.8,0.1,0.1, the first not 0"
        )
    return fractions[0], fractions[1], fractions[2]


def _cutoffs(n: int, fractions: Sequence[float]) -> tuple[float, float]:
    """Return how many of n graphs train, and train and valid together, may have.

    Rounded where binary fractions would fall just short: 0.8 + 0.1 of 10 is 9.
    """
    train, valid, _ = check_fractions(fractions)
    return round(train * n, 6), round((train + valid) * n, 6)


def random_split(n: int, fractions: Sequence[float], seed: int) -> dict[str, Indices]:
    """Return a random split of n graphs; the indices of each split ascend."""
    first, second = (int(cutoff) for cutoff in _cutoffs(n, fractions))
    order = np.random.default_rng(seed).permutation(n)
    parts = np.split(order, [first, second])
    return {name: np.sort(part) for name, part in zip(NAMES, parts, strict=True)}


def stratified_split(classes: npt.NDArray[np.int64], fractions: Sequence[float], seed: int) -> dict[str, Indices]:
    """Return a random split in which every class has its share, and one graph at least of three or more.

    Parameters
    ----------
    classes
        The class of each graph, (G,).
    fractions
        Of train, valid and test; one of 0 gets no graph.
    seed
        Of the permutation.
    """
    generator = np.random.default_rng(seed)
    parts: dict[str, list[Indices]] = {name: [] for name in NAMES}
    for name in np.unique(classes):
        own = generator.permutation(np.flatnonzero(classes == name))
        first, second = (int(cutoff) for cutoff in _cutoffs(len(own), fractions))
        counts = {"valid": second - first, "test": len(own) - second}
        if len(own) >= len(NAMES):
            counts = {split: max(counts[split], int(fractions[NAMES.index(split)] > 0)) for split in counts}
        for split, count in counts.items():
            own, taken = np.split(own, [len(own) - count])
            parts[split].append(taken)
        parts["train"].append(own)
    return {name: np.sort(np.concatenate(part)) for name, part in parts.items()}


def lacks_a_class(classes: npt.NDArray[np.int64], division: Mapping[str, Indices]) -> bool:
    """Whether a split with graphs has none of a class that three or more graphs have; negative classes do not count."""
    names, counts = np.unique(classes[classes >= 0], return_counts=True)
    common = names[counts >= len(NAMES)]
    return any(len(index) and not np.isin(common, classes[index]).all() for index in division.values())


def scaffold_split(scaffolds: npt.NDArray[np.uint64], fractions: Sequence[float]) -> dict[str, Indices]:
    """Return OGB's scaffold split: molecules of one scaffold stay together, the largest groups train.

    Groups go from the largest to the smallest, among equals from the one that begins last, each into train while it
    fits within its fraction, else into valid while train and valid together fit within theirs, else into test.

    Parameters
    ----------
    scaffolds
        A number per molecule that tells scaffolds apart, shape (G,).
    fractions
        Of train, valid and test.
    """
    n = len(scaffolds)
    train_cutoff, valid_cutoff = _cutoffs(n, fractions)
    _, first, group_of, size = np.unique(scaffolds, return_index=True, return_inverse=True, return_counts=True)
    split_of_group = np.empty(len(size), np.int8)
    train = valid = 0
    for group in np.lexsort((first, size))[::-1]:
        count = size[group]
        if train + count <= train_cutoff:
            split_of_group[group], train = 0, train + count
        elif train + valid + count <= valid_cutoff:
            split_of_group[group], valid = 1, valid + count
        else:
            split_of_group[group] = 2
    split = split_of_group[group_of]
    return {name: np.flatnonzero(split == code) for code, name in enumerate(NAMES)}


def split_name(value: str) -> str | None:
    """Return which split a cell of a split column names; None if it names none."""
    name = value.strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in NAMES else None


def read_index_file(file: Path) -> Indices:
    """Return the rows in a file of row numbers, one a line, counted from 0."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.isdecimal():
            raise InputError(f"{file}, line {number}: {text!r}; accepted: a row number, counted from 0")
        if text:
            rows.append(int(text))
    return np.array(rows, np.int64)


def index_split(index: Mapping[str, Indices], rows: Indices, num_rows: int) -> dict[str, Indices]:
    """Return the graphs of the rows that each split names; a skipped row has none, and a row in no split is left out.

    Parameters
    ----------
    index
        Row numbers per split.
    rows
        The row that each graph came from, ascending, shape (G,).
    num_rows
        How many rows there were.
    """
    graph_of_row = np.full(num_rows, -1, np.int64)
    graph_of_row[rows] = np.arange(len(rows))
    taken = np.zeros(num_rows, np.bool_)
    splits = {}
    for name, wanted in index.items():
        wrong = wanted[(wanted < 0) | (wanted >= num_rows)]
        if len(wrong):
            raise InputError(f"split {name} names row {wrong[0]}; accepted: 0..{num_rows - 1}")
        twice = wanted[taken[wanted]]
        if len(twice) or len(np.unique(wanted)) < len(wanted):
            said = f"row {twice[0]}, which another split has" if len(twice) else "a row twice"
            raise InputError(f"split {name} names {said}; accepted: every row at most once")
        taken[wanted] = True
        graphs = graph_of_row[wanted]
        splits[name] = graphs[graphs >= 0]
    return splits


def shared(molecules: npt.NDArray[np.uint64], splits: Mapping[str, Indices]) -> npt.NDArray[np.uint64]:
    """Return the molecules that occur in more than one split, each once.

    Parameters
    ----------
    molecules
        A number per graph that tells molecules apart, shape (G,).
    splits
        Graphs per split.
    """
    members = np.concatenate([np.unique(molecules[index]) for index in splits.values()])
    found, count = np.unique(members, return_counts=True)
    return found[count > 1]
