"""Leave-one-out: how much a prediction changes without a node or an edge."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.explain.outputs import ExplainedOutput
from grpe_dgl.explain.variants import Variants
from grpe_dgl.models.model import GraphModel
from grpe_dgl.offsets import lengths_of
from grpe_dgl.views import View

Array = npt.NDArray[Any]
PAIRS_PER_BATCH = 1 << 18  # bounds the memory of a forward pass


def mask_graphs(
    model: GraphModel,
    view: View,
    arrays: GraphArrays,
    index: npt.NDArray[np.int64],
    output: ExplainedOutput,
    smiles: Sequence[str] | None = None,
) -> list[tuple[float, Array, Array, Array]]:
    r"""Return for each graph its value, the contributions of its nodes and edges, and the ends of the edges.

    With f the explained output of the model::

        contribution of node i  = f(graph) - f(graph without i)
        contribution of edge ij = f(graph) - f(graph without ij)

    `grpe_dgl.explain.variants.Variants` defines what is left. Contributions do not sum to f. The only node of a graph
    has NaN, as nothing would be left.

    Parameters
    ----------
    model, view, arrays, index
        As for `grpe_dgl.explain.maps.attention_maps`.
    output
        What is explained.
    smiles
        Of every graph of `arrays`, for models that read descriptors of the molecule.

    Returns
    -------
    list
        Of each graph f, (nodes,) and (edges,) float64, and (edges, 2) int64, the lower end first.
    """
    sizes = lengths_of(arrays.node_offsets)[index]
    found: list[tuple[float, Array, Array, Array] | None] = [None] * len(index)
    for place in (sizes == 1).nonzero()[0]:
        value = float(graph_values(model, view, arrays, index[place : place + 1], output)[0])
        found[place] = value, np.full(1, np.nan), np.zeros(0), np.zeros((0, 2), np.int64)
    places = (sizes > 1).nonzero()[0]
    places = places[np.argsort(sizes[places], kind="stable")]
    if len(places):
        variants = Variants(arrays, index[places], smiles)
        values = graph_values(model, view, variants, np.arange(len(variants)), output)
        first = 0
        for place, (nodes, edges), ends in zip(places, variants.counts, variants.pairs, strict=True):
            own = values[first : first + 1 + nodes + edges]
            change = own[0] - own[1:]
            found[place] = float(own[0]), change[:nodes], change[nodes:], ends
            first += 1 + nodes + edges
    return [one for one in found if one is not None]


def graph_values(
    model: GraphModel, view: View, arrays: GraphArrays, index: npt.NDArray[np.int64], output: ExplainedOutput
) -> Array:
    """Return the explained output of graphs, (B,) float64, batch by batch; like sizes should stand together."""
    squares = (lengths_of(arrays.node_offsets)[index] + 1) ** 2
    ends = squares.cumsum()
    values, first = [], 0
    while first < len(index):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + PAIRS_PER_BATCH, side="right")), first + 1)
        with torch.no_grad():
            outputs = model(collate(arrays, index[first:last], view).graph)
        values.append(output.values(outputs.double()).numpy())
        first = last
    return np.concatenate(values)
