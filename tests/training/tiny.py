"""Datasets and a recipe small enough to train in a moment."""

import dataclasses

import dgl
import numpy as np
import torch

import grpe_dgl.data
from grpe_dgl.recipe import Recipe
from grpe_dgl.schema import Task

TASKS = {
    "regression": Task(level="graph", kind="regression", targets=("level",), metric="mae", standardise=True),
    "binary": Task(level="graph", kind="binary", targets=("a", "b", "c"), metric="rocauc"),
    "multiclass": Task(
        level="node", kind="multiclass", targets=("kind",), classes=("x", "y", "z"), metric="weighted_accuracy"
    ),
}


def write_dataset(path, kind, count=28, seed=0, num_valid=4, valid_labels=None, targets=None, simple=False):
    """Random graphs of 3 to 7 nodes: 20 to train on, the rest for valid and test; labels missing here and there.

    There are self-loops and parallel edges, unless `simple`.
    """
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(3, 8))
        graph = dgl.graph((rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n)), num_nodes=n)
        graph.ndata["feat"] = torch.from_numpy(rng.integers(0, 5, (n, 2)))
        graph.edata["feat"] = torch.from_numpy(rng.integers(0, 3, 2 * n))
        if simple:
            src, dst = (end.numpy() for end in graph.edges())
            _, first = np.unique(src * n + dst, return_index=True)
            graph = dgl.edge_subgraph(graph, np.sort(first[src[first] != dst[first]]), relabel_nodes=False)
        if kind == "multiclass":  # uneven classes, some labels missing
            graph.ndata["label"] = torch.from_numpy(rng.choice([0, 0, 0, 1, 2, -1], n))
        graphs.append(graph)
    labels = None
    if kind == "regression":
        labels = np.array([[100 + 40 * float(graph.ndata["feat"][:, 0].float().mean())] for graph in graphs])
    elif kind == "binary":
        labels = rng.choice([0.0, 1.0, 1.0, np.nan], (count, 3))
        labels[-8:-4], labels[-4:] = [[0, 1, 0], [1, 0, 1]] * 2, [[1, 0, 1], [0, 1, 0]] * 2
    edge = count - 8
    if valid_labels is not None:
        labels[edge : edge + 4] = valid_labels
    splits = {"train": range(edge), "valid": range(edge, edge + num_valid), "test": range(edge + 4, count)}
    grpe_dgl.data.write(
        path,
        graphs,
        labels,
        {name: np.array(numbers) for name, numbers in splits.items()},
        task=TASKS[kind] if targets is None else dataclasses.replace(TASKS[kind], targets=targets),
        node_vocabulary=(5, 5),
        num_edge_types=3,
    )
    return path


def recipe(**overrides):
    """A recipe of two layers and three epochs of five updates; overrides with dots written as double underscores."""
    base = {
        "dataset": "tiny",
        "model": {"layers": 2, "hidden_size": 16, "ffn_size": 16, "num_heads": 2, "input_noise": 0.1},
        "training": {"batch_size": 4, "epochs": 3, "warmup_epochs": 1, "learning_rate": 0.01, "clip": 1.0},
    }
    return Recipe.from_dict(base).override({key.replace("__", "."): value for key, value in overrides.items()})
