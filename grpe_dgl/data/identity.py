"""Which data a model was trained on: hashes of the dataset's arrays and of every training graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.batching.slices import Slices
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled

MAX_GRAPHS = 1_000_000
"""Beyond this many training graphs only the hashes of the arrays are kept."""
_CONTENT = ("node_offsets", "edge_offsets", "node_feat", "src", "dst", "edge_type", "label", "weight")
_SPLIT = "split-"
_CHUNK = 100_000  # graphs hashed at a time


@dataclass(frozen=True)
class DataIdentity:
    """The dataset of a training run, as hashes."""

    arrays: Mapping[str, str]
    """The SHA-256 of each array that holds graphs, labels or splits, by name."""
    training_graphs: npt.NDArray[np.uint64] | None
    """(G,) sorted: the 64-bit hash of every graph of the split train; None where there are more than `MAX_GRAPHS`."""

    @classmethod
    def of(cls, store: Store) -> Self:
        """Return the identity of a dataset."""
        arrays = {
            name: entry.sha256
            for name, entry in store.manifest.arrays.items()
            if name in _CONTENT or name.startswith(_SPLIT)
        }
        index = store.splits.get("train", np.zeros(0, np.int64)).astype(np.int64)
        return cls(arrays, np.sort(graph_hashes(store, index)) if len(index) <= MAX_GRAPHS else None)

    def differences(self, other: "DataIdentity") -> list[str]:
        """Return what differs between two datasets, in words: splits, graphs or labels; empty if they are equal."""
        names = sorted(
            name for name in self.arrays.keys() | other.arrays.keys() if self.arrays.get(name) != other.arrays.get(name)
        )
        splits = [name.removeprefix(_SPLIT) for name in names if name.startswith(_SPLIT)]
        graphs = [name for name in names if not name.startswith(_SPLIT) and name != "label"]
        return [
            *([f"the graphs ({', '.join(graphs)})"] if graphs else []),
            *(["the labels"] if "label" in names else []),
            *([f"the split{'s' * (len(splits) > 1)} {', '.join(splits)}"] if splits else []),
        ]

    def require_same(self, other: "DataIdentity", *, what: str, data: str) -> None:
        """Raise unless `other`, the identity of the dataset `data`, is that of the run `what`."""
        if differences := self.differences(other):
            raise InputError(
                f"{what} was trained on other data: {' and '.join(differences)} of {data} changed since; accepted: the "
                "dataset the run was started with"
            )

    def count_training_graphs(self, store: Store, index: npt.NDArray[np.int64]) -> int | None:
        """Return how many of a dataset's graphs numbered `index` are training graphs; None if that is not known."""
        if self.training_graphs is None:
            return None
        return int(np.isin(graph_hashes(store, index), self.training_graphs).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values and a tensor, for a checkpoint."""
        graphs = self.training_graphs
        return {
            "arrays": dict(self.arrays),
            "training_graphs": None if graphs is None else torch.from_numpy(graphs.view(np.int64)),
        }

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Return what `to_dict` was made of; raises a ValueError for anything else."""
        if not isinstance(plain, dict) or not isinstance(plain.get("arrays"), dict) or "training_graphs" not in plain:
            raise ValueError("data_identity is not a table of arrays and training_graphs")
        graphs = plain["training_graphs"]
        if graphs is None:
            return cls({str(name): str(value) for name, value in plain["arrays"].items()}, None)
        if not isinstance(graphs, torch.Tensor) or graphs.dtype != torch.int64 or graphs.dim() != 1:
            raise ValueError("data_identity.training_graphs is not a column of int64")
        hashes = graphs.contiguous().numpy().view(np.uint64)
        return cls({str(name): str(value) for name, value in plain["arrays"].items()}, hashes)


def graph_hashes(store: GraphArrays, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each graph numbered `index`, (B,): of its nodes' features and its edges as stored.

    It does not depend on the integer types of the arrays, which differ between datasets. Of a million different graphs,
    two have the same hash with a chance of 1 in 37 million.
    """
    hashes = np.zeros(len(index), np.uint64)
    feat = store.node_feat.view(np.uint32) if store.node_feat.dtype.kind == "f" else store.node_feat
    for first in range(0, len(index), _CHUNK):
        slices = Slices.of(store, index[first : first + _CHUNK])
        ends = ((slices.node_start + slices.num_nodes).max(), (slices.edge_start + slices.num_edges).max())
        if ends[0] > len(feat) or ends[1] > len(store.src):
            raise InputError(
                f"{store.path} is corrupt: its offsets point past its arrays",
                hint="verify_dataset",
                value=str(store.path),
            )
        _hash(
            (slices.node_start, slices.num_nodes, slices.edge_start, slices.num_edges),
            feat,
            (store.src, store.dst, store.edge_type),
            hashes[first : first + _CHUNK],
        )
    return hashes


@compiled()
def _hash(slices, feat, edges, hashes):  # type: ignore[no-untyped-def]
    """Write the hash of each graph: splitmix64's finaliser after every value."""
    node_start, num_nodes, edge_start, num_edges = slices
    src, dst, edge_type = edges
    a, b = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    for graph in range(len(hashes)):
        state = np.uint64(num_nodes[graph]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(num_edges[graph])
        for node in range(node_start[graph], node_start[graph] + num_nodes[graph]):
            for column in range(feat.shape[1]):
                state = (state ^ np.uint64(feat[node, column])) + np.uint64(0x9E3779B97F4A7C15)
                state = (state ^ (state >> np.uint64(30))) * a
                state = (state ^ (state >> np.uint64(27))) * b
        for edge in range(edge_start[graph], edge_start[graph] + num_edges[graph]):
            state ^= (np.uint64(src[edge]) << np.uint64(40)) ^ (np.uint64(dst[edge]) << np.uint64(16))
            state = (state ^ np.uint64(edge_type[edge])) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * a
            state = (state ^ (state >> np.uint64(27))) * b
        hashes[graph] = state ^ (state >> np.uint64(31))
