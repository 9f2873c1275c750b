"""The attention of a model over many graphs: how much goes to which distance, and to the virtual node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.explain.maps import AttentionMaps, attention_maps
from grpe_dgl.models.model import GraphModel
from grpe_dgl.relations import UNREACHABLE
from grpe_dgl.views import View

Array = npt.NDArray[Any]
DISTANCES = 5  # the largest distance with a column of its own: the paper's L
_GRAPHS_AT_A_TIME = 32


@dataclass(frozen=True)
class AttentionSummary:
    """Attention of real nodes by the key's distance, of every layer, mean over heads, queries and graphs.

    K kinds of keys: distances 0 (the node itself) to `DISTANCES`, longer ones, no path, and the virtual node.
    """

    share: Array
    """(layers, K): which part of a node's attention goes to all keys of a kind together; rows sum to one."""
    weight: Array
    """(layers, K): the mean weight of one pair of a kind; NaN where there is no such pair."""
    pairs: Array
    """(K,) int64: how many pairs of a kind there are."""
    graphs: int
    """How many graphs were read."""

    @property
    def kinds(self) -> list[str]:
        """The names of the K kinds."""
        return [*(f"distance {d}" for d in range(DISTANCES + 1)), f"distance > {DISTANCES}", "no path", "virtual node"]


def summarise_attention(
    model: GraphModel,
    view: View,
    arrays: GraphArrays,
    index: npt.NDArray[np.int64],
    progress: Callable[[int, int | None], object] | None = None,
) -> AttentionSummary:
    """Return the mean attention of a model over graphs; arguments as for `grpe_dgl.explain.maps.attention_maps`.

    A node without any key (the only node of a graph in SAN, a node without edges in GT and GAT) is not counted.
    `progress` is called with the number of graphs done and of all.
    """
    share: Array | None = None
    total: Array | None = None
    queries = np.zeros(0)
    pairs = np.zeros(DISTANCES + 4, np.int64)
    for first in range(0, len(index), _GRAPHS_AT_A_TIME):
        some = index[first : first + _GRAPHS_AT_A_TIME]
        for maps in attention_maps(model, view, arrays, some):
            mass, counts, rows = _by_kind(maps)
            share = mass if share is None else share + mass
            queries = rows if total is None else queries + rows
            total = share
            pairs += counts
        if progress is not None:
            progress(first + len(some), len(index))
    assert share is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        return AttentionSummary(
            share=share / queries[:, None],
            weight=np.where(pairs > 0, share / np.maximum(pairs, 1), np.nan),
            pairs=pairs,
            graphs=len(index),
        )


def _by_kind(maps: AttentionMaps) -> tuple[Array, Array, Array]:
    """Return the attention (layers, K) that real nodes give to each kind, the pairs (K,), and the nodes (layers,)."""
    n, virtual = len(maps.distance), maps.virtual
    kind = np.full((n, n + virtual), DISTANCES + 3)
    kind[:, virtual:] = np.minimum(maps.distance, DISTANCES + 1)
    kind[:, virtual:][maps.distance == UNREACHABLE] = DISTANCES + 2
    flat = kind.ravel()
    given = maps.mean[:, virtual:].astype(np.float64)  # (layers, n, n + virtual)
    mass = np.stack([np.bincount(flat, layer.ravel(), minlength=DISTANCES + 4) for layer in given])
    return mass, np.bincount(flat, minlength=DISTANCES + 4), (given.sum(-1) > 0.5).sum(-1)
