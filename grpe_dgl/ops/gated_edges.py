"""The gates of GatedGCN and what they let through, of the edges of a batch on the CPU."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import dgl
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grpe_dgl.offsets import offsets_of

EDGES_PER_THREAD = 1024
ROWS_AT_A_TIME = 4096  # edges in one matrix product


class Gated(NamedTuple):
    """What `gated_edges` returns."""

    gate: Tensor
    """(edges, width)."""
    total: Tensor
    """(N, width): the sum of gated neighbours."""
    weights: Tensor
    """(N, width): the sum of the gates' sigmoids."""


def gated_edges(
    graph: dgl.DGLGraph, edge: Tensor, weight: Tensor, source: Tensor, target: Tensor, neighbour: Tensor
) -> Gated:
    """Return gates and gated sums, one pass over the edges forward and one backward beside the matrix products.

    Over the edges u -> v::

        gate_uv = weight edge_uv + source_u + target_v
        total_v = sum_u sigmoid(gate_uv) * neighbour_u,   weights_v = sum_u sigmoid(gate_uv)

    Parameters
    ----------
    graph
        N nodes.
    edge, weight
        (edges, width) and (width, width).
    source, target, neighbour
        (N, width) each.
    """
    gate, total, weights = _GatedEdges.apply(edge, weight, source, target, neighbour, graph)
    return Gated(gate, total, weights)


def is_supported(*tensors: Tensor) -> bool:
    """Whether `gated_edges` takes these tensors: of one type, float32 or float64, on the CPU, without autocast."""
    kinds = {(tensor.dtype, tensor.device.type) for tensor in tensors}
    plain = kinds in ({(torch.float32, "cpu")}, {(torch.float64, "cpu")})
    return plain and not torch.is_autocast_enabled("cpu")


class _GatedEdges(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, edge: Tensor, weight: Tensor, source: Tensor, target: Tensor, neighbour: Tensor, graph: dgl.DGLGraph
    ) -> tuple[Tensor, Tensor, Tensor]:
        from grpe_dgl.ops.fused.gated_edges import Forward, forward_kernel

        source, target, neighbour = (x.contiguous() for x in (source, target, neighbour))
        ctx.ends = _ends(graph)
        gate = _product(edge, weight.T)
        total, weights = torch.zeros_like(neighbour), torch.zeros_like(neighbour)
        arrays = (_flat(x) for x in (source, target, neighbour, gate, total, weights))
        shares, src, dst = ctx.ends
        _run(forward_kernel, Forward(shares, gate.shape[1], src, dst, *arrays))
        ctx.save_for_backward(edge, weight, neighbour, gate)
        ctx.set_materialize_grads(False)
        return gate, total, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor | None, of_total: Tensor | None, of_weights: Tensor | None) -> Any:
        from grpe_dgl.ops.fused.gated_edges import Backward, backward_kernel

        edge, weight, neighbour, gate = ctx.saved_tensors
        of_gate = torch.empty_like(gate)
        of_source, of_target, of_neighbour = (torch.zeros_like(neighbour) for _ in range(3))
        of_sums = (torch.zeros_like(neighbour) if x is None else x.contiguous() for x in (of_total, of_weights))
        direct = gate if given is None else given.contiguous()  # of the right size
        shares, src, dst = ctx.ends
        read = [_flat(x) for x in (neighbour, gate, *of_sums)]
        written = [_flat(x) for x in (direct, of_gate, of_source, of_target, of_neighbour)]
        arguments: tuple[Any, ...] = (shares, gate.shape[1], src, dst, *read, given is not None, *written)
        _run(backward_kernel, Backward(*arguments))
        of_weight = torch.zeros_like(weight)
        for rows in _pieces(len(edge)):
            of_weight.addmm_(of_gate[rows].T, edge[rows])
        return _product(of_gate, weight), of_weight, of_source, of_target, of_neighbour, None


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Return x @ y in pieces of rows: of a long, narrow x, MKL takes up to twice as long at once."""
    found = x.new_empty(len(x), y.shape[1])
    for rows in _pieces(len(x)):
        torch.mm(x[rows], y, out=found[rows])
    return found


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_A_TIME) for start in range(0, rows, ROWS_AT_A_TIME))


def _ends(graph: dgl.DGLGraph) -> tuple[Any, Any, Any]:
    """Return where the edges of each thread begin, whole graphs each, and both ends of every edge."""
    src, dst = (end.long().numpy() for end in graph.edges())
    threads = min(torch.get_num_threads(), 1 + len(src) // EDGES_PER_THREAD)
    if threads == 1:
        return np.array([0, len(src)]), src, dst
    offsets = offsets_of(graph.batch_num_edges().numpy())
    cuts = np.searchsorted(offsets, len(src) * np.arange(threads + 1) // threads)
    return offsets[cuts], src, dst


def _run(kernel: Any, call: Any) -> None:
    from grpe_dgl.kernels.openmp import run

    if len(call.src):
        run(kernel, len(call.shares) - 1, tuple(call))


def _flat(x: Tensor) -> Any:
    return x.detach().view(-1).numpy()
