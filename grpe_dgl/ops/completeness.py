"""Whether a pair graph is complete, and its relations in the order of its pairs if it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.offsets import offsets_of
from grpe_dgl.ops.per_graph import PerGraph

if TYPE_CHECKING:
    import dgl


def is_complete(pairs: dgl.DGLGraph) -> bool:
    """Return whether every query of every graph of the batch has each node of its graph as a key exactly once."""
    return _ordered_relations(pairs) is not None


def relations_in_order(pairs: dgl.DGLGraph, backend: str) -> Tensor:
    """Return the relations of a complete pair graph, graph by graph, that of (i, j) at i * n + j; shape (M,).

    Parameters
    ----------
    pairs
        Pair graph, with its edges in any order.
    backend
        The backend that needs a complete graph, for the message of the error if it is not.
    """
    relation = _ordered_relations(pairs)
    if relation is None:
        raise InputError(
            f'the pair graph is not complete; backend "{backend}" needs every pair of each graph '
            '(grpe_dgl.transforms.ToPairGraph makes them), use backend "dgl" or "auto"'
        )
    return relation


def _find_ordered_relations(pairs: dgl.DGLGraph) -> Tensor | None:
    """Return the relations in the order of the pairs, or None if the graph is not complete."""
    sizes = pairs.batch_num_nodes().long().cpu().numpy()  # (G,)
    if sizes.sum() != pairs.num_nodes() or (sizes * sizes).sum() != pairs.num_edges():
        return None
    first_pair, keys, edges = pairs.adj_tensors("csc")  # (N + 1,), (M,), and (M,) or empty
    relation = pairs.edata["relation"]
    if len(edges):  # DGL leaves the edge numbers out where the edges are already in the order of the CSC
        relation = relation[edges.long()]
    first_pair, keys = first_pair.cpu().numpy(), keys.cpu().numpy()
    num_keys = np.repeat(sizes, sizes)  # (N,), what each query must have
    if not np.array_equal(np.diff(first_pair), num_keys):
        return None

    # Key j of query i belongs at i * n + j of its graph. Every query has n edges: those n places are filled by them.
    first_node = np.repeat(offsets_of(sizes)[:-1], sizes)  # (N,), of the query's graph
    place = np.repeat((first_pair[:-1] - first_node).astype(keys.dtype), num_keys)  # (M,)
    place += keys
    if not len(place) or (place[0] == 0 and place[-1] == len(place) - 1 and (place[1:] > place[:-1]).all()):
        return relation  # 0, 1, 2, ...: as `ToPairGraph` and the batches of a dataset have them

    within = place - np.repeat(first_pair[:-1], num_keys)  # j, if the key is of the query's graph
    if within.min() < 0 or (within >= np.repeat(num_keys, num_keys)).any():
        return None  # an edge between two graphs of the batch
    if not np.bincount(place, minlength=len(place)).all():
        return None  # a pair is missing, and so another occurs twice
    return torch.empty_like(relation).index_copy_(0, torch.from_numpy(place).long().to(relation.device), relation)


_ordered_relations = PerGraph(_find_ordered_relations)
