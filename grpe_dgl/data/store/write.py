"""Write a dataset of DGLGraphs."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.sources.source import Job, Source
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS_OF_KIND
from grpe_dgl.schema import Schema, Task

_RUN = 1000  # graphs packed at a time


def write(
    path: str | Path,
    graphs: Sequence[dgl.DGLGraph],
    labels: npt.ArrayLike | None,
    splits: Mapping[str, npt.ArrayLike],
    *,
    task: Task | str,
    node_vocabulary: Sequence[int] | None = None,
    num_edge_types: int | None = None,
    undirected: bool = True,
    force: bool = False,
) -> Manifest:
    """Write a dataset that `grpe_dgl.data.load` and `grpe train` read.

    Parameters
    ----------
    path
        The dataset's folder.
    graphs
        Homogeneous graphs with ``ndata["feat"]``, (n,) or (n, F), integer columns or numbers, and optionally
        ``edata["feat"]``, (edges,) or (edges, 1), an integer type per edge. Any object with a length and
        indexing is accepted, such as the graphs of a DGL dataset.
    labels
        Per graph: (G,) or (G, T) numbers, NaN for missing (-1 for multiclass). None for a task per node: the labels are
        then ``ndata["label"]``, (n,) or (n, T).
    splits
        The graphs of each split, by number: ``{"train": [...], "valid": [...], "test": [...]}``.
    task
        ``"regression"``, ``"binary"`` or ``"multiclass"``, or a `Task`, which also has names and a metric.
    node_vocabulary, num_edge_types
        How many values each integer column has and how many edge types there are; taken from the graphs if None.
    undirected
        Whether an edge given in one direction counts in both.
    force
        Whether to replace a dataset that is there.
    """
    if len(graphs) == 0:
        raise InputError("no graphs were given; accepted: at least one")
    for number in range(len(graphs)):
        _check(graphs[number], number, level="graph" if labels is not None else "node")
    integer = not graphs[0].ndata["feat"].is_floating_point()
    if integer and node_vocabulary is None:
        node_vocabulary = tuple(
            np.max([_columns(graph.ndata["feat"]).amax(0).numpy() for graph in _each(graphs)], axis=0) + 1
        )
    if num_edge_types is None:
        num_edge_types = max((int(_edge_types(graph).max(initial=0)) for graph in _each(graphs)), default=0) + 1
    label = None if labels is None else np.asarray(labels)
    if label is not None and len(label) != len(graphs):
        raise InputError(f"{len(label)} labels were given for {len(graphs)} graphs")
    task = _task(task, graphs, label)

    def jobs() -> Iterator[Job]:
        for first in range(0, len(graphs), _RUN):
            part = [graphs[number] for number in range(first, min(first + _RUN, len(graphs)))]
            yield functools.partial(_run, part, None if label is None else label[first : first + _RUN], task)

    index = {name: np.asarray(numbers, np.int64) for name, numbers in splits.items()}
    source = Source(
        schema=Schema(
            name=Path(path).name,
            task=task,
            vocabulary="custom",
            node_vocabulary=tuple(int(size) for size in node_vocabulary) if integer and node_vocabulary else None,
            node_features=None if integer else _columns(graphs[0].ndata["feat"]).shape[1],
            edge_columns=(int(num_edge_types),),
            undirected=undirected,
        ),
        origin="written by grpe_dgl.data.write",
        num_rows=len(graphs),
        jobs=jobs(),
        splits=lambda rows: index,
    )
    return preprocess(source, path, force=force)


def _check(graph: Any, number: int, level: str) -> None:
    if not isinstance(graph, dgl.DGLGraph) or not graph.is_homogeneous:
        raise InputError(f"graph {number} is a {type(graph).__name__}; accepted: a homogeneous DGLGraph")
    if "feat" not in graph.ndata:
        raise InputError(f'graph {number} has no ndata["feat"]; accepted: integer columns or numbers per node')
    if level == "node" and "label" not in graph.ndata:
        raise InputError(f'no labels were given and graph {number} has no ndata["label"]; give either')
    if graph.num_nodes() == 0:
        raise InputError(f"graph {number} has no nodes; accepted: at least one")
    edge_feat = graph.edata.get("feat")
    if edge_feat is not None and (edge_feat.is_floating_point() or edge_feat.numel() != graph.num_edges()):
        raise InputError(
            f'graph {number} has edata["feat"] of dtype {edge_feat.dtype} and shape {tuple(edge_feat.shape)}; '
            "accepted: one integer type per edge"
        )


def _task(task: Task | str, graphs: Sequence[dgl.DGLGraph], label: npt.NDArray[Any] | None) -> Task:
    """Complete a task given by its kind alone."""
    if isinstance(task, Task):
        return task
    if task not in METRICS_OF_KIND:
        raise InputError(f"task is {task!r}; accepted: {', '.join(METRICS_OF_KIND)} or a grpe_dgl.data.Task")
    level = "node" if label is None else "graph"
    first = graphs[0].ndata["label"].numpy() if label is None else label
    classes: tuple[str, ...] = ()
    if task == "multiclass":
        parts = (graph.ndata["label"].max() for graph in _each(graphs)) if label is None else (label.max(),)
        classes = tuple(str(c) for c in range(int(max(parts)) + 1))
        targets: tuple[str, ...] = ("label",)
    else:
        columns = first.shape[1] if first.ndim == 2 else 1
        targets = ("label",) if columns == 1 else tuple(f"label {t}" for t in range(columns))
    return Task(level=level, kind=task, targets=targets, classes=classes, metric=METRICS_OF_KIND[task][0])


def _run(part: list[dgl.DGLGraph], label: npt.NDArray[Any] | None, task: Task) -> Graphs:
    edges = [graph.edges(order="eid") for graph in part]
    if label is None:
        label = np.concatenate([graph.ndata["label"].cpu().numpy() for graph in part])
    if task.kind == "multiclass":
        label = label.reshape(-1).astype(np.int64)
    else:
        label = label.reshape(len(label), -1).astype(np.float32)
    return Graphs(
        num_nodes=np.array([graph.num_nodes() for graph in part]),
        num_edges=np.array([graph.num_edges() for graph in part]),
        node_feat=torch.cat([_columns(graph.ndata["feat"]) for graph in part]).numpy(),
        src=torch.cat([src for src, _ in edges]).cpu().numpy(),
        dst=torch.cat([dst for _, dst in edges]).cpu().numpy(),
        edge_type=np.concatenate([_edge_types(graph) for graph in part]),
        label=label,
    )


def _each(graphs: Sequence[dgl.DGLGraph]) -> Iterator[dgl.DGLGraph]:
    return (graphs[number] for number in range(len(graphs)))


def _columns(feat: torch.Tensor) -> torch.Tensor:
    feat = feat.unsqueeze(-1) if feat.dim() == 1 else feat
    return feat.cpu().float() if feat.is_floating_point() else feat.cpu().long()


def _edge_types(graph: dgl.DGLGraph) -> npt.NDArray[np.int64]:
    if "feat" not in graph.edata:
        return np.zeros(graph.num_edges(), np.int64)
    return graph.edata["feat"].reshape(-1).cpu().long().numpy()
