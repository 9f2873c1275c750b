"""The published codes' numbers: fixtures, their graphs as batches of ours, and the comparison through a name map."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.store.arrays import ArraysInMemory
from grpe_dgl.data.store.validation import pack
from grpe_dgl.schema import Schema, Task

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "parity" / "baselines"
TOLERANCE = 1e-9


def load_fixture(name):
    """Return the fixture, or skip the test where the folder of fixtures is not there."""
    file = Path(os.environ.get("GRPE_PARITY", FOLDER)) / f"{name}.pt"
    if not file.is_file():
        pytest.skip(f"{file} is not there; GRPE_PARITY names the folder of fixtures")
    return torch.load(file, weights_only=True)


def require_options(fixture, **accepted):
    """Fail unless options of the original, where the fixture records them, have the values that ours computes."""
    for key, value in accepted.items():
        found = fixture["kwargs"].get(key, value)
        assert found == value, f"{key} is {found!r} in the fixture; the model here computes {value!r} alone"


def graph_schema(fixture, node_columns, edge_columns):
    """Return the schema of a graph-level fixture with as many targets as it has outputs."""
    targets = tuple(f"t{i}" for i in range(fixture["output"].shape[1]))
    task = Task(level="graph", kind="regression", targets=targets, metric="mae")
    return Schema(
        name="parity", task=task, vocabulary="custom", node_vocabulary=node_columns, edge_columns=edge_columns
    )


def node_schema(fixture, node_columns, edge_columns=(1,)):
    """Return the schema of a node-level fixture with as many classes as it has outputs."""
    classes = tuple(f"c{i}" for i in range(fixture["output"].shape[1]))
    task = Task(level="node", kind="multiclass", targets=("t",), classes=classes, metric="accuracy")
    return Schema(
        name="parity", task=task, vocabulary="custom", node_vocabulary=node_columns, edge_columns=edge_columns
    )


def batch_of(fixture, schema, view, edges=("src", "dst", "edge_feat")):
    """Return the fixture's graphs as one batch through the store's own arrays and `collate`."""
    graphs = fixture["graphs"]
    src, dst, edge_feat = ([graph[key] for graph in graphs] for key in edges)
    nodes = np.array([graph["num_nodes"] for graph in graphs])
    code = torch.cat(edge_feat).reshape(sum(map(len, src)), -1)
    radix = np.cumprod([1, *schema.edge_columns[:0:-1]])[::-1].copy()
    code = torch.zeros(len(code)) if code.is_floating_point() else (code * torch.from_numpy(radix)).sum(-1)
    level = schema.task.level
    label = np.zeros((len(graphs), len(schema.task.targets))) if level == "graph" else np.zeros(nodes.sum(), np.int64)
    run = Graphs(
        num_nodes=nodes,
        num_edges=np.array([len(ends) for ends in src]),
        node_feat=torch.cat([graph["node_feat"] for graph in graphs]).reshape(nodes.sum(), -1).numpy(),
        src=torch.cat(src).numpy(),
        dst=torch.cat(dst).numpy(),
        edge_type=code.long().numpy(),
        label=label,
    )
    arrays = ArraysInMemory(pack(run, schema), schema)
    return collate(arrays, np.arange(len(graphs)), view).graph


def load_state(model, fixture, names):
    """Put the fixture's weights into the model; `names` maps each of ours to a function of theirs."""
    state = Used(fixture["state"])
    ours = {name: make(state) for name, make in names.items()}
    model.double().eval()
    model.load_state_dict(ours)
    unused = {name for name in fixture["state"] if name not in state.used}
    assert not unused, f"the name map leaves out {sorted(unused)}"
    return model


def compare(model, fixture, names, output, hidden=()):
    """Assert that outputs, hidden states and gradients are the fixture's; return the largest error of each."""
    errors = {"output": difference(output, fixture["output"])}
    errors["hidden"] = max((difference(ours, theirs) for ours, theirs in hidden), default=0.0)
    output.sum().backward()
    without = {name: torch.zeros_like(fixture["state"][name]) for name in fixture.get("no_grad") or ()}
    grad = Used(without | fixture["grad"])
    errors["gradient"] = 0.0
    for name, parameter in model.named_parameters():
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        errors["gradient"] = max(errors["gradient"], difference(found, names[name](grad)))
    assert fixture["num_parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert max(errors.values()) < TOLERANCE, errors
    print({key: f"{value:.1e}" for key, value in errors.items()})
    return errors


def difference(ours, theirs):
    """Return the largest absolute difference of two tensors of one shape."""
    assert ours.shape == theirs.shape
    return float((ours.detach() - theirs).abs().max()) if ours.numel() else 0.0


class Used(dict):
    """A dict that records which of its keys were read."""

    def __init__(self, *args):
        super().__init__(*args)
        self.used = set()

    def __getitem__(self, key):
        self.used.add(key)
        return super().__getitem__(key)


def same(name, shape=None):
    """Return the map that takes one tensor as it is, or in another shape."""
    return lambda theirs: theirs[name] if shape is None else theirs[name].reshape(shape)


def linear(ours, theirs):
    """Return the map of a linear map or a norm with weight and bias."""
    return {f"{ours}.{part}": same(f"{theirs}.{part}") for part in ("weight", "bias")}


def joined(*names):
    """Return the map that joins tensors along their first dimension."""
    return lambda theirs: torch.cat([theirs[name] for name in names])


def batch_norm(ours, theirs):
    """Return the map of a batch norm, running statistics included."""
    parts = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    return {f"{ours}.{part}": same(f"{theirs}.{part}") for part in parts}


def post_norm(ours, theirs, suffix):
    """Return the map of `grpe_dgl.models.post_norm.PostNorm` in a layer of GT or SAN."""
    ffn = f"{theirs}.FFN{suffix}_layer"
    return {
        **linear(f"{ours}.output", f"{theirs}.O{suffix}"),
        **batch_norm(f"{ours}.output_norm", f"{theirs}.batch_norm1{suffix}"),
        **linear(f"{ours}.ffn.0", f"{ffn}1"),
        **linear(f"{ours}.ffn.3", f"{ffn}2"),
        **batch_norm(f"{ours}.ffn_norm", f"{theirs}.batch_norm2{suffix}"),
    }
