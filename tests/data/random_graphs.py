"""Graphs with everything in them that can go wrong: self-loops, duplicates, one-way edges, lonely nodes."""

import dgl
import numpy as np
import torch

NODE_VOCABULARY = (7, 3)
NUM_EDGE_TYPES = 5


def random_graph(random: np.random.Generator, *, max_nodes: int = 11, node_labels: bool = False) -> dgl.DGLGraph:
    n = int(random.integers(1, max_nodes + 1))
    m = int(random.integers(0, 2 * n + 1))
    graph = dgl.graph((random.integers(n, size=m), random.integers(n, size=m)), num_nodes=n)
    graph.ndata["feat"] = torch.from_numpy(random.integers(NODE_VOCABULARY, size=(n, 2)))
    graph.edata["feat"] = torch.from_numpy(random.integers(NUM_EDGE_TYPES, size=m))
    if node_labels:
        graph.ndata["label"] = torch.from_numpy(random.integers(4, size=n))
    return graph


def random_graphs(count: int, seed: int = 0, *, max_nodes: int = 11, node_labels: bool = False) -> list[dgl.DGLGraph]:
    random = np.random.default_rng(seed)
    return [random_graph(random, max_nodes=max_nodes, node_labels=node_labels) for _ in range(count)]
