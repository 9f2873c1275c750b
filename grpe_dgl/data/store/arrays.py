"""New graphs in memory, in the arrays of a processed dataset on disk, so that batches are made alike of both."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.encodings.files import EncodingArrays
from grpe_dgl.data.store.validation import PackedRun
from grpe_dgl.offsets import lengths_of, offsets_of
from grpe_dgl.schema import Schema
from grpe_dgl.views import DESCRIPTORS, Encoding

Array = npt.NDArray[np.generic]


class GraphArrays(Protocol):
    """The arrays of many graphs, graph after graph; see `grpe_dgl.data.store.store.Store` for each."""

    path: Path
    node_offsets: Array
    edge_offsets: Array
    pair_offsets: Array
    node_feat: Array
    src: Array
    dst: Array
    edge_type: Array
    distance: Any
    label: Array

    @property
    def schema(self) -> Schema: ...  # noqa: D102

    def encoding(self, name: str) -> EncodingArrays: ...  # noqa: D102

    def __len__(self) -> int: ...


class ArraysInMemory:
    """A packed run of graphs as `GraphArrays`.

    Parameters
    ----------
    run
        The result of `grpe_dgl.data.store.validation.pack`.
    schema
        The schema it was packed with.
    """

    path = Path("graphs in memory")

    def __init__(self, run: PackedRun, schema: Schema) -> None:
        graphs = run.graphs
        self.schema = schema
        self.node_offsets: Array = offsets_of(graphs.num_nodes)
        self.edge_offsets: Array = offsets_of(graphs.num_edges)
        self.pair_offsets: Array = offsets_of(graphs.num_nodes**2)
        self.node_feat = _locked(graphs.node_feat)
        self.src = _locked(graphs.src)
        self.dst = _locked(graphs.dst)
        self.edge_type = _locked(graphs.edge_type)
        self.distance = _locked(run.distance)
        self.label = _locked(graphs.label)
        self.smiles = graphs.smiles
        self._encodings: dict[str, EncodingArrays] = {}

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def encoding(self, name: str) -> EncodingArrays:
        """Return the encoding called ``laplacian:8`` of all graphs, computed when it is first asked for."""
        if name not in self._encodings:
            encoding = Encoding.parse(name)
            if encoding.kind in DESCRIPTORS:
                self._encodings[name] = self._descriptors(encoding)
                return self._encodings[name]
            from grpe_dgl.data.encodings.compute import encode_graphs  # DGL, which most uses of arrays do not need

            nodes, values = encode_graphs(
                lengths_of(self.node_offsets),
                lengths_of(self.edge_offsets),
                self.src.astype(np.int64),
                self.dst.astype(np.int64),
                encoding,
                undirected=self.schema.undirected,
            )
            self._encodings[name] = EncodingArrays(_locked(nodes), values)
        return self._encodings[name]

    def _descriptors(self, encoding: Encoding) -> EncodingArrays:
        """Return the descriptors of the molecules; all of them are missing for graphs without SMILES."""
        values = np.full((len(self), encoding.size), np.nan, np.float32)
        if self.smiles is not None:
            from grpe_dgl.data.molecules.descriptors import descriptors_of_smiles  # RDKit's take half a second to load

            values = descriptors_of_smiles(self.smiles, encoding.kind, standardised=self.schema.standardised_molecules)
        return EncodingArrays(np.zeros((int(self.node_offsets[-1]), 0), np.float32), values)

    def set_encoding(self, name: str, arrays: EncodingArrays) -> None:
        """Use these numbers as an encoding, for graphs of which it cannot be computed."""
        self._encodings[name] = arrays


def _locked(array: npt.NDArray[Any]) -> Array:
    """Return the array read-only, as those of a store are, so that numba compiles its kernels for one type only."""
    array = array.view()
    array.setflags(write=False)
    return array
