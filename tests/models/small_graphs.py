"""Batches of small random graphs for models of any view, through the arrays that real batches come from."""

import numpy as np
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.store.arrays import ArraysInMemory
from grpe_dgl.data.store.validation import pack
from grpe_dgl.schema import Schema, Task

NODE_COLUMNS, EDGE_COLUMNS = (7, 3), (3, 2)


def schema(level="graph", targets=("a", "b")):
    """Two node columns of 7 and 3 values and two edge columns of 3 and 2."""
    kind = {"graph": "regression", "node": "binary"}[level]
    task = Task(level=level, kind=kind, targets=targets, metric={"graph": "mae", "node": "rocauc"}[level])
    return Schema(name="small", task=task, vocabulary="custom", node_vocabulary=NODE_COLUMNS, edge_columns=EDGE_COLUMNS)


def random_graph(rng, n):
    """A tree with a ring closed: (nodes (n, 2), src, dst, code), every edge in both directions with one code."""
    parent = np.array([rng.integers(0, i) for i in range(1, n)], np.int64)
    ends = np.stack([parent, np.arange(1, n)], 1)
    if n > 4:
        ends = np.concatenate([ends, [[0, n - 1]]]) if parent[-1] != 0 else ends
    code = rng.integers(0, np.prod(EDGE_COLUMNS), len(ends))
    nodes = np.stack([rng.integers(0, size, n) for size in NODE_COLUMNS], 1)
    return nodes, np.append(ends[:, 0], ends[:, 1]), np.append(ends[:, 1], ends[:, 0]), np.append(code, code)


def permuted(graph, order):
    """The same graph with its nodes in another order: node order[i] becomes node i; its edges are shuffled too."""
    nodes, src, dst, code = graph
    place = np.argsort(order)
    shuffle = np.random.default_rng(5).permutation(len(src))
    return nodes[order], place[src][shuffle], place[dst][shuffle], code[shuffle]


def unusual_graphs():
    """One node alone, two nodes without an edge, a self-loop and a duplicate edge, two components."""
    none = np.zeros(0, np.int64)
    looped = (np.array([0, 1, 1, 0, 1]), np.array([1, 0, 1, 1, 2]), np.array([1, 1, 2, 3, 0]))
    split = (np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]), np.array([1, 1, 4, 4]))
    return [
        (np.array([[6, 2]]), none, none, none),
        (np.array([[1, 0], [2, 1]]), none, none, none),
        (np.array([[0, 0], [1, 1], [2, 2]]), *looped),
        (np.array([[3, 0], [1, 1], [2, 2], [5, 0], [4, 1]]), *split),
    ]


def batch(graphs, schema, view):
    """Return the one graph that a model of that view reads."""
    nodes = np.array([len(graph[0]) for graph in graphs])
    label = np.zeros((len(graphs) if schema.task.level == "graph" else nodes.sum(), len(schema.task.targets)))
    run = Graphs(
        num_nodes=nodes,
        num_edges=np.array([len(graph[1]) for graph in graphs]),
        node_feat=np.concatenate([graph[0] for graph in graphs]),
        src=np.concatenate([graph[1] for graph in graphs]),
        dst=np.concatenate([graph[2] for graph in graphs]),
        edge_type=np.concatenate([graph[3] for graph in graphs]),
        label=label,
    )
    return collate(ArraysInMemory(pack(run, schema), schema), np.arange(len(graphs)), view).graph


def randomise(model, seed=0):
    """Give every parameter and running statistic a random value, so that none hides by being 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                random = torch.rand(tensor.shape, generator=generator, dtype=tensor.dtype)
                tensor.copy_(random + 0.5 if name.endswith("running_var") else random - 0.5)
    return model
