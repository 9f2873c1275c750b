"""The positional encodings of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from grpe_dgl.data.batching.slices import Slices, copy_node_rows
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.views import Encoding

if TYPE_CHECKING:
    import dgl


def add_encodings(
    graph: dgl.DGLGraph, arrays: GraphArrays, slices: Slices, encodings: Sequence[str], *, virtual_node: bool
) -> None:
    """Put each encoding into ``ndata`` under its kind, (N, columns) float32, with zeros for virtual nodes.

    Kinds with numbers per graph put them into ``ndata["KIND_values"]``, (N, size), the same for every node of a graph.
    """
    for name in encodings:
        kind = Encoding.parse(name).kind
        stored = arrays.encoding(name)
        rows, _ = copy_node_rows(stored.nodes, slices, np.float32, virtual_node=virtual_node)
        graph.ndata[kind] = torch.from_numpy(rows)
        if stored.values is not None:
            counts = slices.num_nodes + int(virtual_node)
            values = np.repeat(stored.values[slices.graphs], counts, axis=0)
            graph.ndata[f"{kind}_values"] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
