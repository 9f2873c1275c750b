"""Which elements and sizes the molecules of a dataset have, so that a model knows what it has seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from rdkit import Chem

from grpe_dgl.data.store.store import Store
from grpe_dgl.messages import counted

_CHUNK = 100_000  # graphs at a time
_OTHER = 119  # OGB's last code, for what is no element


@dataclass(frozen=True)
class Coverage:
    """The elements and sizes of molecules in OGB's columns."""

    molecules: int
    """How many molecules there are."""
    elements: Mapping[int, int]
    """Atomic number to the number of molecules with that element; 119 stands for atoms of no element."""
    most_nodes: int
    """The number of atoms of the largest molecule, hydrogens left out."""

    @classmethod
    def of(cls, store: Store, index: npt.NDArray[np.int64] | None = None) -> Self:
        """Return the coverage of a dataset in OGB's columns: of the graphs numbered `index`, (B,), or of all."""
        chosen = np.zeros(len(store), np.bool_)
        chosen[slice(None) if index is None else index] = True
        offsets = np.asarray(store.node_offsets)
        elements: dict[int, int] = {}
        for first in range(0, len(store), _CHUNK):
            bounds = offsets[first : first + _CHUNK + 1].astype(np.int64)
            graph = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            number = np.asarray(store.node_feat[bounds[0] : bounds[-1], 0]).astype(np.int64) + 1  # codes begin with 0
            kept = chosen[first + graph]
            pairs = np.unique(graph[kept] * (_OTHER + 1) + number[kept])
            for element, count in zip(*np.unique(pairs % (_OTHER + 1), return_counts=True), strict=True):
                elements[int(element)] = elements.get(int(element), 0) + int(count)
        sizes = np.diff(offsets.astype(np.int64))[chosen]
        return cls(int(chosen.sum()), dict(sorted(elements.items())), int(sizes.max(initial=0)))

    def unseen(self, other: "Coverage") -> list[str]:
        """Return what the molecules of `other` have and these do not, in words; empty if there is nothing."""
        notes = []
        new = {element: count for element, count in other.elements.items() if element not in self.elements}
        if new:
            each = ", ".join(f"{symbol(element)} ({counted(count, 'molecule')})" for element, count in new.items())
            notes.append(f"elements: {each}")
        if other.most_nodes > self.most_nodes:
            notes.append(f"sizes: up to {other.most_nodes} atoms, where it has seen up to {self.most_nodes}")
        return notes

    def text(self) -> str:
        """Return the coverage in a line."""
        return (
            f"{counted(self.molecules, 'molecule')} of up to {self.most_nodes} atoms: "
            f"{', '.join(map(symbol, self.elements))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a checkpoint."""
        return {"molecules": self.molecules, "elements": dict(self.elements), "most_nodes": self.most_nodes}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Return what `to_dict` was made of; raises a ValueError for anything else."""
        if not isinstance(plain, dict) or plain.keys() != {"molecules", "elements", "most_nodes"}:
            raise ValueError("coverage is not a table of molecules, elements and most_nodes")
        elements = plain["elements"]
        numbers = [plain["molecules"], plain["most_nodes"]]
        if isinstance(elements, dict):
            numbers += [*elements.keys(), *elements.values()]
        if not isinstance(elements, dict) or not all(type(value) is int and value >= 0 for value in numbers):
            raise ValueError("coverage has a value that is not a count")
        if not all(1 <= element <= _OTHER for element in elements):
            raise ValueError("coverage has an element that does not exist")
        return cls(plain["molecules"], dict(elements), plain["most_nodes"])


def symbol(element: int) -> str:
    """Return the symbol of an atomic number; ``*`` for OGB's code of what is no element."""
    return "*" if element >= _OTHER else str(Chem.GetPeriodicTable().GetElementSymbol(element))
