"""The pair graph's structure: every ordered pair of nodes of every graph of a batch, made by arithmetic."""

import dgl
import torch
from torch import Tensor


def complete_pairs(nodes_per_graph: Tensor, *, idtype: torch.dtype = torch.int64) -> dgl.DGLGraph:
    """Return the batched complete pair graph of graphs with the given numbers of nodes, without data.

    Edges run key -> query (src = j, dst = i), query by query with keys ascending, so that pair (i, j) of a graph of n
    nodes is its edge i * n + j. The graph is built as CSC, whose arrays follow from the sizes alone.

    Parameters
    ----------
    nodes_per_graph
        Shape (graphs,), integer; its device becomes the graph's.
    idtype
        The graph's index type, ``torch.int32`` or ``torch.int64``.

    Returns
    -------
    dgl.DGLGraph
        N = sum of n nodes and M = sum of n * n edges, batched graph by graph.
    """
    nodes_per_graph = nodes_per_graph.to(torch.int64)
    pairs_per_graph = nodes_per_graph * nodes_per_graph
    keys_of_query = nodes_per_graph.repeat_interleave(nodes_per_graph)  # (N,)
    indptr = torch.cat([keys_of_query.new_zeros(1), keys_of_query.cumsum(0)])  # (N + 1,)
    # Key j of a query is its graph's first node + j: the pair's own number less the number of its query's first pair.
    first_node = (nodes_per_graph.cumsum(0) - nodes_per_graph).repeat_interleave(nodes_per_graph)  # (N,)
    keys = torch.arange(int(indptr[-1]), device=indptr.device)
    keys += (first_node - indptr[:-1]).repeat_interleave(keys_of_query)  # (M,)
    graph = dgl.graph(
        ("csc", (indptr.to(idtype), keys.to(idtype), keys.new_empty(0).to(idtype))),
        num_nodes=len(keys_of_query),
        idtype=idtype,
        device=indptr.device,
    )
    graph.set_batch_num_nodes(nodes_per_graph)
    graph.set_batch_num_edges(pairs_per_graph)
    return graph
