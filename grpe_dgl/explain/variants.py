"""Copies of graphs from which one node or one edge is left out, as arrays that batches are made of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.encodings.files import EncodingArrays
from grpe_dgl.data.molecules.arrays import molecule_of_graph
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.explain.cut_molecules import cut_descriptors
from grpe_dgl.offsets import offsets_of
from grpe_dgl.schema import Schema
from grpe_dgl.views import DESCRIPTORS, Encoding

Array = npt.NDArray[Any]


class Variants:
    """Every graph with nothing left out, then without each node, then without each edge, as `GraphArrays`.

    What is left keeps its features, distances and positional encodings as they are in the whole graph, so that a model
    sees values that it was trained on: other nodes still have the degree and the hydrogens they had. The two ends of an
    edge that is left out count as nodes at distance 2, which is the least that two nodes without an edge can have.
    Descriptors of a molecule are those of what is left (`grpe_dgl.explain.cut_molecules`), as a model that reads them
    would otherwise see the whole molecule in every variant.

    Parameters
    ----------
    base
        The graphs.
    index
        (B,): which of them, each of two nodes or more.
    smiles
        Of every graph of `base`, for models that read descriptors; None keeps those of the whole molecule.
    """

    path = Path("graphs in memory")

    def __init__(self, base: GraphArrays, index: npt.NDArray[np.int64], smiles: Sequence[str] | None = None) -> None:
        self._base = base
        self._smiles = smiles
        self.pairs: list[Array] = []
        """Of each graph (edges, 2) int64: the ends of its edges, the lower first, in the order of the variants."""
        self.counts: list[tuple[int, int]] = []
        """Of each graph its numbers of nodes and of edges: it has 1 + nodes + edges variants."""
        self._parts: dict[str, list[Array]] = {name: [] for name in ("rows", "src", "dst", "edge_type", "distance")}
        self._sizes: list[tuple[int, int]] = []
        self._graphs: list[int] = []
        self._encodings: dict[str, EncodingArrays] = {}
        for graph in index:
            self._add(int(graph))
        num_nodes, num_edges = np.array(self._sizes, np.int64).T
        self.node_offsets: Array = offsets_of(num_nodes)
        self.edge_offsets: Array = offsets_of(num_edges)
        self.pair_offsets: Array = offsets_of(num_nodes**2)
        self._rows = np.concatenate(self._parts["rows"])
        self.node_feat = _locked(np.asarray(base.node_feat)[self._rows])
        self.src, self.dst, self.edge_type = (
            _locked(np.concatenate(self._parts[name])) for name in ("src", "dst", "edge_type")
        )
        self.distance = _locked(np.concatenate(self._parts["distance"]))
        self.label = _locked(np.zeros((len(self), 0), np.float32))

    @property
    def schema(self) -> Schema:
        """The schema of the graphs."""
        return self._base.schema

    def __len__(self) -> int:
        return len(self._sizes)

    def encoding(self, name: str) -> EncodingArrays:
        """Return an encoding: every node keeps that of the whole graph; descriptors are those of what is left."""
        if name not in self._encodings:
            whole = self._base.encoding(name)
            values = None if whole.values is None else np.asarray(whole.values)[self._graphs]
            if values is not None and self._smiles is not None and (kind := Encoding.parse(name).kind) in DESCRIPTORS:
                self._cut(values, kind, self._smiles)
            nodes = _locked(np.asarray(whole.nodes)[self._rows])
            self._encodings[name] = EncodingArrays(nodes, None if values is None else _locked(values))
        return self._encodings[name]

    def _cut(self, values: Array, kind: str, smiles: Sequence[str]) -> None:
        """Replace the descriptors (variants, D) of molecules from which something is left out."""
        first = 0
        for (nodes, edges), ends in zip(self.counts, self.pairs, strict=True):
            graph = self._graphs[first]
            molecule = molecule_of_graph(smiles[graph], self._base, graph)
            if molecule is not None:
                values[first + 1 : first + 1 + nodes + edges] = cut_descriptors(molecule, ends, values[first], kind)
            first += 1 + nodes + edges

    def _add(self, graph: int) -> None:
        base = self._base
        first, last = int(base.node_offsets[graph]), int(base.node_offsets[graph + 1])
        n = last - first
        edges = slice(int(base.edge_offsets[graph]), int(base.edge_offsets[graph + 1]))
        pairs = slice(int(base.pair_offsets[graph]), int(base.pair_offsets[graph + 1]))
        src, dst, kind = (np.asarray(array[edges]) for array in (base.src, base.dst, base.edge_type))
        distance = np.asarray(base.distance[pairs]).reshape(n, n)
        ends = np.unique(np.sort(np.stack([src, dst], -1).astype(np.int64), -1), axis=0)
        ends = ends[ends[:, 0] != ends[:, 1]]
        rows = np.arange(first, last)
        self._append(graph, rows, src, dst, kind, distance)
        for node in range(n):
            stays = (src != node) & (dst != node)
            self._append(
                graph,
                np.delete(rows, node),
                src[stays] - (src[stays] > node).astype(src.dtype),
                dst[stays] - (dst[stays] > node).astype(dst.dtype),
                kind[stays],
                np.delete(np.delete(distance, node, 0), node, 1),
            )
        for one, other in ends:
            stays = ~(((src == one) & (dst == other)) | ((src == other) & (dst == one)))
            apart = distance.copy()
            apart[one, other] = apart[other, one] = 2
            self._append(graph, rows, src[stays], dst[stays], kind[stays], apart)
        self.pairs.append(ends)
        self.counts.append((n, len(ends)))

    def _append(self, graph: int, rows: Array, src: Array, dst: Array, kind: Array, distance: Array) -> None:
        self._graphs.append(graph)
        self._sizes.append((len(rows), len(src)))
        for name, array in zip(self._parts, (rows, src, dst, kind, distance.ravel()), strict=True):
            self._parts[name].append(array)


def _locked(array: Array) -> Array:
    """Return the array read-only, as those of a store are, so that numba compiles its kernels for one type only."""
    array.setflags(write=False)
    return array
