"""Attach a virtual node to a graph."""

import dgl
import torch
from dgl.transforms import BaseTransform

from grpe_dgl.transforms.homogeneous import require_homogeneous


class AddVirtualNode(BaseTransform):
    """Join a virtual node to every node, in both directions.

    The virtual node becomes node 0 and the others move up by one. ``ndata["virtual"]`` and ``edata["virtual"]`` (bool)
    mark it and its edges; other node and edge data is copied, with zeros in the new rows. The new edges follow
    the graph's own: first from the virtual node to every other, then back. Every graph of a batch gets one of its own.

    Examples
    --------
    >>> import dgl
    >>> from grpe_dgl.transforms import AddVirtualNode
    >>> graph = AddVirtualNode()(dgl.graph(([0], [1])))
    >>> graph.edges()
    (tensor([1, 0, 0, 1, 2]), tensor([2, 1, 2, 0, 0]))
    >>> graph.ndata["virtual"]
    tensor([ True, False, False])
    """

    def __call__(self, graph: dgl.DGLGraph) -> dgl.DGLGraph:
        """Return the graph with its virtual node; `graph` itself is not changed."""
        require_homogeneous(graph, "AddVirtualNode")
        nodes_per_graph, edges_per_graph = graph.batch_num_nodes(), graph.batch_num_edges()
        graphs = torch.arange(graph.batch_size, dtype=graph.idtype, device=graph.device)

        # Every node of graph g moves up by the g + 1 virtual nodes that now stand before it.
        graph_of_node = graphs.repeat_interleave(nodes_per_graph)  # (N,)
        moved = graph.nodes() + graph_of_node + 1
        hub = nodes_per_graph.cumsum(0).to(graph.idtype) - nodes_per_graph.to(graph.idtype) + graphs  # (graphs,)
        num_nodes = graph.num_nodes() + graph.batch_size

        # Each graph's edges stay together, as a batch requires: its own, then virtual -> node, then node -> virtual.
        own_src, own_dst = graph.edges(order="eid")
        hub_of_node = hub[graph_of_node.long()]
        src = torch.cat([moved[own_src.long()], hub_of_node, moved])
        dst = torch.cat([moved[own_dst.long()], moved, hub_of_node])
        graph_of_edge = torch.cat([graphs.repeat_interleave(edges_per_graph), graph_of_node, graph_of_node])
        order = graph_of_edge.sort(stable=True).indices

        result = dgl.graph((src[order], dst[order]), num_nodes=num_nodes, idtype=graph.idtype, device=graph.device)
        result.set_batch_num_nodes((nodes_per_graph + 1).to(graph.idtype))
        result.set_batch_num_edges((edges_per_graph + 2 * nodes_per_graph).to(graph.idtype))
        for name, data in graph.ndata.items():
            carried = data.new_zeros(num_nodes, *data.shape[1:])
            carried[moved.long()] = data
            result.ndata[name] = carried
        for name, data in graph.edata.items():
            result.edata[name] = torch.cat([data, data.new_zeros(len(order) - len(data), *data.shape[1:])])[order]
        # A virtual node the graph already had keeps its mark.
        virtual_node = result.ndata.get("virtual", torch.zeros_like(result.nodes())).bool()
        virtual_node[hub.long()] = True
        result.ndata["virtual"] = virtual_node
        result.edata["virtual"] = result.edata.get("virtual", torch.zeros_like(order)).bool() | (order >= len(own_src))
        return result
