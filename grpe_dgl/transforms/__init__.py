"""DGL transforms: attach a virtual node, turn a graph into the complete graph of its pairs."""

from grpe_dgl.transforms.pair_graph import ToPairGraph
from grpe_dgl.transforms.virtual_node import AddVirtualNode

__all__ = ["AddVirtualNode", "ToPairGraph"]
