"""The molecules a model was trained on, as far as is needed to see whether another one is like them."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.data.store.store import Store

MAX_FINGERPRINTS = 100_000
"""Of more training molecules, the fingerprints of so many are kept, drawn at random."""
COLUMNS = ("nearest_similarity", "unseen_element", "unseen_size", "unseen_charge")
"""The names of what `TrainingDomain.compare` returns."""
_ELEMENT, _CHARGE = 0, 3  # columns of OGB's atoms
_CHUNK = 100_000  # graphs
_WORDS = 32  # of a fingerprint
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class TrainingDomain:
    """What is kept of a model's training molecules."""

    fingerprints: Words
    """(n, 32): the Morgan fingerprints of the training molecules, or of `MAX_FINGERPRINTS` of them."""
    molecules: int
    """How many training molecules there are; of several models, how many there are at least."""
    elements: frozenset[int]
    """Codes of the atoms' first column, the element."""
    sizes: tuple[int, int]
    """The fewest and the most atoms of a molecule."""
    charges: frozenset[int]
    """Net charges of molecules."""

    @classmethod
    def of(cls, store: Store) -> Self | None:
        """Return the domain of a dataset's split train; None if it does not hold molecules with their SMILES."""
        from grpe_dgl.data.molecules.morgan import (
            morgan_fingerprints,  # RDKit, which reading a checkpoint does not need
        )

        if store.schema.vocabulary != "ogb" or not store.has_smiles or not len(store.splits.get("train", ())):
            return None
        index = np.sort(store.splits["train"].astype(np.int64))
        elements, charges, low, high = set[int](), set[int](), 1 << 30, 0
        for first in range(0, len(index), _CHUNK):
            sizes, codes, net = _atoms(store, index[first : first + _CHUNK])
            elements |= set(np.unique(codes).tolist())
            charges |= set(np.unique(net).tolist())
            low, high = min(low, int(sizes.min())), max(high, int(sizes.max()))
        chosen = index
        if len(index) > MAX_FINGERPRINTS:
            chosen = np.sort(np.random.default_rng(0).choice(index, MAX_FINGERPRINTS, replace=False))
        smiles = [store.smiles(int(graph)) for graph in chosen]
        fingerprints, _ = morgan_fingerprints(smiles, standardised=store.schema.standardised_molecules)
        return cls(np.unique(fingerprints, axis=0), len(index), frozenset(elements), (low, high), frozenset(charges))

    @classmethod
    def union(cls, domains: "Sequence[TrainingDomain]") -> "TrainingDomain":
        """Return the domain of the training molecules of several models."""
        first, *others = domains
        if not others:
            return first
        fingerprints = np.unique(np.concatenate([domain.fingerprints for domain in domains]), axis=0)
        return TrainingDomain(
            fingerprints,
            max(len(fingerprints), *(domain.molecules for domain in domains)),
            frozenset().union(*(domain.elements for domain in domains)),
            (min(domain.sizes[0] for domain in domains), max(domain.sizes[1] for domain in domains)),
            frozenset().union(*(domain.charges for domain in domains)),
        )

    def compare(
        self, smiles: Sequence[str], arrays: GraphArrays, graphs: npt.NDArray[np.int64], *, standardised: bool
    ) -> npt.NDArray[np.float32]:
        """Return how molecules compare with the training molecules, (B, 4) float32; the columns are `COLUMNS`.

        The Tanimoto similarity to the nearest of `fingerprints`, then 1 or 0: whether the molecule has an element that
        no training molecule has; whether it has fewer or more atoms than any; whether its net charge is that of none.

        Parameters
        ----------
        smiles
            B molecules.
        arrays, graphs
            Their graphs are those numbered `graphs`, (B,), of `arrays`.
        standardised
            See `grpe_dgl.data.molecules.standardise`.
        """
        from grpe_dgl.data.molecules.morgan import morgan_fingerprints

        result = np.zeros((len(graphs), len(COLUMNS)), np.float32)
        if not len(graphs):
            return result
        result[:, 0] = self._neighbours.similarity(morgan_fingerprints(smiles, standardised=standardised)[0])
        sizes, codes, net = _atoms(arrays, graphs)
        unseen = ~np.isin(codes, list(self.elements))
        result[:, 1] = np.logical_or.reduceat(unseen, np.cumsum(sizes) - sizes)
        result[:, 2] = (sizes < self.sizes[0]) | (sizes > self.sizes[1])
        result[:, 3] = ~np.isin(net, list(self.charges))
        return result

    @functools.cached_property
    def _neighbours(self) -> Any:
        from grpe_dgl.data.molecules.nearest import Neighbours

        return Neighbours(self.fingerprints)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values and a tensor, for a checkpoint."""
        return {
            "fingerprints": torch.from_numpy(self.fingerprints.view(np.int64)),
            "molecules": self.molecules,
            "elements": sorted(self.elements),
            "sizes": list(self.sizes),
            "charges": sorted(self.charges),
        }

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Return what `to_dict` was made of; raises a ValueError for anything else."""
        if not isinstance(plain, dict):
            raise ValueError("domain is not a table")
        bits = plain.get("fingerprints")
        lists: list[Any] = [plain.get(key) for key in ("elements", "sizes", "charges")]
        if not isinstance(bits, torch.Tensor) or bits.dtype != torch.int64 or bits.dim() != 2 or not len(bits):
            raise ValueError("domain.fingerprints is not a matrix of int64")
        if bits.shape[1] != _WORDS or any(
            not isinstance(values, list) or any(type(value) is not int for value in values) for values in lists
        ):
            raise ValueError("domain is not as this version writes it")
        if type(plain.get("molecules")) is not int or len(lists[1]) != 2:
            raise ValueError("domain.molecules or domain.sizes is damaged")
        elements, (low, high), charges = lists
        words = bits.contiguous().numpy().view(np.uint64)
        return cls(words, plain["molecules"], frozenset(elements), (low, high), frozenset(charges))


def _atoms(
    arrays: GraphArrays, graphs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of atoms (B,), the element codes (atoms,) and the net charges (B,) of molecules."""
    offsets = np.asarray(arrays.node_offsets).astype(np.int64)
    start, sizes = offsets[graphs], offsets[graphs + 1] - offsets[graphs]
    first = np.cumsum(sizes) - sizes
    rows = np.arange(sizes.sum()) + np.repeat(start - first, sizes)
    columns = np.asarray(arrays.node_feat)[rows][:, [_ELEMENT, _CHARGE]].astype(np.int64)
    net = np.add.reduceat(_charge_of_code()[columns[:, 1]], first)
    return sizes, columns[:, 0], net


@functools.cache
def _charge_of_code() -> npt.NDArray[np.int64]:
    """Return the charge that each code of an atom's charge stands for; the last is for charges beyond the list."""
    from grpe_dgl.data.molecules.columns import ogb_features

    values = ogb_features()["possible_formal_charge_list"]
    return np.array([value if isinstance(value, int) else max(values[:-1]) + 1 for value in values], np.int64)
