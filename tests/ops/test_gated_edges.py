"""The kernel of GatedGCN's edges against DGL's operations."""

import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.ops.gated_edges as module
from grpe_dgl.ops.gated_edges import gated_edges, is_supported


def batch():
    """Graphs of 5, 1 and 7 nodes: edges in any order, parallel ones, loops, isolated nodes, a graph without edges."""
    rng = np.random.default_rng(0)
    graphs = [
        dgl.graph((rng.integers(0, n - 1, m), rng.integers(0, n - 1, m)), num_nodes=n) for n, m in ((5, 9), (7, 13))
    ]
    return dgl.batch([graphs[0], dgl.graph(([], []), num_nodes=1), graphs[1]])


def inputs(graph, width):
    generator = torch.Generator().manual_seed(width)
    shapes = [(graph.num_edges(), width), (width, width), *[(graph.num_nodes(), width)] * 3]
    return [torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_() for shape in shapes]


def plain(graph, edge, weight, source, target, neighbour):
    gate = edge @ weight.T + dgl.ops.u_add_v(graph, source, target)
    opened = gate.sigmoid()
    return gate, dgl.ops.u_mul_e_sum(graph, neighbour, opened), dgl.ops.copy_e_sum(graph, opened)


def outputs_and_gradients(function, graph, tensors):
    found = function(graph, *tensors)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(x.shape, dtype=x.dtype, generator=generator) for x in found]
    total = sum((x * w).sum() for x, w in zip(found, weights, strict=True))
    return [*found, *torch.autograd.grad(total, tensors)]


@pytest.mark.parametrize("width", [1, 8, 11, 24])
def test_equals_the_operations_of_dgl(width, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", 7)
    graph = batch()
    tensors = inputs(graph, width)
    ours = outputs_and_gradients(gated_edges, graph, tensors)
    for found, expected in zip(ours, outputs_and_gradients(plain, graph, tensors), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_threads_change_no_number(monkeypatch):
    graph, before = batch(), torch.get_num_threads()
    tensors = inputs(graph, 11)
    alone = outputs_and_gradients(gated_edges, graph, tensors)
    monkeypatch.setattr(module, "EDGES_PER_THREAD", 1)
    torch.set_num_threads(2)
    try:
        shared = outputs_and_gradients(gated_edges, graph, tensors)
    finally:
        torch.set_num_threads(before)
    for one, two in zip(alone, shared, strict=True):
        torch.testing.assert_close(two, one, rtol=0, atol=1e-13)


def test_a_graph_without_edges():
    graph = dgl.graph(([], []), num_nodes=2)
    gate, total, weights = gated_edges(graph, *inputs(graph, 8))
    assert gate.shape == (0, 8) and not total.any() and not weights.any()


def test_autocast_and_mixed_types_take_other_operations():
    x = torch.zeros(1)
    assert is_supported(x, x) and not is_supported(x, x.double()) and not is_supported(x.bfloat16())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not is_supported(x, x)


def test_gates_that_nothing_else_reads():
    graph = batch()
    tensors = inputs(graph, 11)
    found = [torch.autograd.grad(function(graph, *tensors)[1].sum(), tensors) for function in (gated_edges, plain)]
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
