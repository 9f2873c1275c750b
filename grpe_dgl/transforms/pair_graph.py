"""Turn a graph into the complete graph of its pairs of nodes."""

import dgl
import numba
import numpy as np
import torch
from dgl.transforms import BaseTransform
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.threads import as_many_threads_as_torch
from grpe_dgl.offsets import offsets_of
from grpe_dgl.relations import Relations
from grpe_dgl.transforms.homogeneous import require_homogeneous
from grpe_dgl.transforms.pair_codes import fill_relations
from grpe_dgl.transforms.pair_structure import attach_codes, complete_pairs, require_room
from grpe_dgl.transforms.shortest_paths import all_pairs_distances


class ToPairGraph(BaseTransform):
    """Make the complete pair graph: every ordered pair of nodes with its distance and its edge.

    The result has an edge key -> query (src = j, dst = i) for every ordered pair, self-pairs included, at i * n + j in
    a graph of n nodes, with ``edata["spd"]``, ``edata["edge"]`` and ``edata["relation"]`` (int32, shape (M,)), coded as
    `grpe_dgl.relations` says, and ``ndata["codes"]`` (see `grpe_dgl.transforms.pair_structure.attach_codes`). Node data
    is carried over; edge data is not. Graphs of a batch stay apart.

    An edge u -> v types the pair (query v, key u), and the distance of that pair is the length of the path from u to v.
    Edge types are the integers of ``edata["feat"]``, shape (edges,) or (edges, 1); without it every edge is type 0.
    Nodes marked in ``ndata["virtual"]`` take no part in distances. Self-loops are ignored; of duplicate edges the first
    gives the type.

    Parameters
    ----------
    max_distance
        L: the largest distance with a code of its own, 1..252.
    num_edge_types
        E: edge types are 0..E-1.
    undirected
        Whether an edge given in one direction counts in both. Where both are given, each keeps its own type.

    Examples
    --------
    >>> import dgl
    >>> from grpe_dgl.transforms import ToPairGraph
    >>> pairs = ToPairGraph(max_distance=5, num_edge_types=1)(dgl.graph(([0, 1], [1, 2])))
    >>> pairs.edata["spd"].view(3, 3)
    tensor([[0, 1, 2],
            [1, 0, 1],
            [2, 1, 0]], dtype=torch.int32)
    """

    def __init__(self, max_distance: int, num_edge_types: int, undirected: bool = True) -> None:
        self.relations = Relations(max_distance, num_edge_types)
        self.undirected = undirected

    def __call__(self, graph: dgl.DGLGraph) -> dgl.DGLGraph:
        """Return the pair graph of `graph`, which is not changed."""
        require_homogeneous(graph, "ToPairGraph")
        require_room(graph.batch_num_nodes(), codes=3, index_bytes=graph.idtype.itemsize)
        edge_types = _edge_types(graph, self.relations.num_edge_types)
        virtual = graph.ndata.get("virtual", torch.zeros_like(graph.nodes())).bool().cpu()

        # Edges as each graph's own node numbers, less self-loops and the virtual node's.
        node_offsets = offsets_of(graph.batch_num_nodes().cpu())
        src, dst = (end.cpu().long() for end in graph.edges(order="eid"))
        keep = (src != dst) & ~virtual[src] & ~virtual[dst]
        graph_of_edge = torch.arange(graph.batch_size).repeat_interleave(graph.batch_num_edges().cpu())[keep]
        first_node = torch.from_numpy(node_offsets)[graph_of_edge]
        source = (src[keep] - first_node).numpy()
        target = (dst[keep] - first_node).numpy()
        edge_offsets = offsets_of(torch.bincount(graph_of_edge, minlength=graph.batch_size))

        codes = self.relations
        distances = all_pairs_distances(
            node_offsets, edge_offsets, source, target, limit=codes.max_distance, undirected=self.undirected
        )
        relation = np.empty(len(distances), np.int32)
        with as_many_threads_as_torch():
            _fill_relations(
                node_offsets,
                edge_offsets,
                distances,
                (source, target, edge_types[keep].numpy()),
                virtual.numpy(),
                self.undirected,
                codes.relation_of_distance(),
                (codes.own, codes.virtual),
                relation,
            )

        pairs = complete_pairs(graph.batch_num_nodes(), idtype=graph.idtype)
        for name, data in graph.ndata.items():
            pairs.ndata[name] = data.clone()
        for name, code in codes.split(relation, ("spd", "edge", "relation")).items():
            pairs.edata[name] = torch.from_numpy(code).to(graph.device)
        attach_codes(pairs, codes)
        return pairs


def _edge_types(graph: dgl.DGLGraph, num_edge_types: int) -> Tensor:
    """Return the type of every edge, shape (edges,), checked."""
    if "feat" not in graph.edata:
        return torch.zeros(graph.num_edges(), dtype=torch.int64)
    feat = graph.edata["feat"].cpu()
    if feat.is_floating_point() or feat.is_complex() or feat.dtype == torch.bool:
        raise InputError(f'edata["feat"] has dtype {feat.dtype}; accepted: an integer type per edge')
    if feat.dim() == 2 and feat.shape[1] == 1:
        feat = feat[:, 0]
    if feat.dim() != 1:
        raise InputError(f'edata["feat"] has shape {tuple(feat.shape)}; accepted: (edges,) or (edges, 1)')
    # The virtual node's edges have no type: the values in their rows are ignored.
    types = feat.long().masked_fill(graph.edata.get("virtual", torch.zeros_like(feat)).bool().cpu(), 0)
    wrong = ((types < 0) | (types >= num_edge_types)).nonzero()
    if len(wrong):
        edge = int(wrong[0])
        raise InputError(f'edata["feat"] is {int(types[edge])} at edge {edge}; accepted: 0..{num_edge_types - 1}')
    return types


@compiled(parallel=True)
def _fill_relations(  # type: ignore[no-untyped-def]
    node_offsets, edge_offsets, distances, edges, virtual, undirected, relation_of_distance, codes, relation
):
    """Write the relation of every pair; nodes marked in `virtual` relate to all others as virtual nodes do."""
    src, dst, edge_type = edges
    own, virtual_code = codes
    pair_offsets = np.zeros(len(node_offsets), np.int64)
    for graph in range(len(node_offsets) - 1):
        pair_offsets[graph + 1] = pair_offsets[graph] + (node_offsets[graph + 1] - node_offsets[graph]) ** 2
    for graph in numba.prange(len(node_offsets) - 1):
        first = node_offsets[graph]
        n = node_offsets[graph + 1] - first
        pairs = slice(pair_offsets[graph], pair_offsets[graph + 1])
        part = slice(edge_offsets[graph], edge_offsets[graph + 1])
        out = relation[pairs]
        fill_relations(
            n, 0, distances[pairs], src[part], dst[part], edge_type[part], undirected, relation_of_distance, own,
            virtual_code, out,
        )  # fmt: skip
        for i in range(n):
            if virtual[first + i]:
                for j in range(n):
                    if i != j:
                        out[i * n + j] = virtual_code
                        out[j * n + i] = virtual_code
