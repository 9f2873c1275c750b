"""Relative attention as one CPU kernel forward and one backward."""

import math
from typing import Any

import dgl
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grpe_dgl.kernels.openmp import run
from grpe_dgl.ops.fused.backward import backward_kernel
from grpe_dgl.ops.fused.forward import forward_kernel
from grpe_dgl.ops.fused.lanes import LANES
from grpe_dgl.ops.fused.plan import Plan, plan_of

Array = npt.NDArray[Any]
WORK_PER_THREAD = 2048  # pairs, of eight heads: less than that takes no longer than waking a thread


def fused_attention(
    pairs: dgl.DGLGraph,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    query_table: Tensor | None,
    key_table: Tensor | None,
    value_table: Tensor | None,
    *,
    key_term: str,
    dropout: float,
) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D); the arguments are its own."""
    tables = [query_table, key_table, value_table]
    work = pairs.num_edges() * -(-q.shape[1] // LANES)
    plan = plan_of(pairs, min(torch.get_num_threads(), 1 + work // WORK_PER_THREAD))
    seed = int(torch.randint(2**62, ())) if dropout else 0
    return _FusedAttention.apply(q, k, v, *tables, plan, key_term == "self", dropout, seed)


class _FusedAttention(torch.autograd.Function):
    """What the kernels take: flat arrays, whose layout the strides give, so that one compilation serves them all."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> Tensor:
        *tables, plan, key_self, dropout, seed = others
        num_nodes, num_heads, head_size = q.shape
        q, k, v = (x if x.stride(2) == 1 else x.contiguous() for x in (q, k, v))
        tables = [table if table is None else table.contiguous() for table in tables]
        z = torch.empty(num_nodes, num_heads, head_size, dtype=q.dtype)
        statistics = torch.empty(num_nodes * 2 * -(-num_heads // LANES) * LANES, dtype=q.dtype)
        if z.numel():
            run(
                forward_kernel,
                len(plan.shares) - 1,
                tuple(plan),
                _sizes(q, k, v, tables, key_self),
                (_flat(q), _flat(k), _flat(v)),
                tuple(_flat_table(table, q) for table in tables),
                *_typed(q, dropout, seed),
                _flat(z),
                statistics.numpy(),
            )
        ctx.save_for_backward(q, k, v, *tables, z, statistics)
        ctx.options = plan, key_self, dropout, seed
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_z: Tensor) -> Any:
        q, k, v, *tables, z, statistics = ctx.saved_tensors
        plan, key_self, dropout, seed = ctx.options
        num_nodes, num_heads, head_size = q.shape
        threads, groups, width = len(plan.shares) - 1, -(-num_heads // LANES), head_size + head_size % 2
        grad_z = grad_z.contiguous()
        grad_q, grad_k, grad_v = (torch.empty_like(z) for _ in range(3))
        in_parts = plan.pieces[plan.pieces[:, 3] >= 0]
        partial_rows = int(sum(plan.node_offsets[g + 1] - plan.node_offsets[g] for g in in_parts[:, 0]))
        partial_k, partial_v = torch.empty(2, partial_rows, num_heads, head_size, dtype=q.dtype)
        in_lanes = [(threads, 0 if t is None else groups * len(t) * width * LANES) for t in tables]
        table_sums = tuple(np.zeros(size, z.numpy().dtype) for size in in_lanes)
        if z.numel():
            run(
                backward_kernel,
                len(plan.shares) - 1,
                tuple(plan),
                _sizes(q, k, v, tables, key_self),
                (_flat(q), _flat(k), _flat(v)),
                tuple(_flat_table(table, q) for table in tables),
                *_typed(q, dropout, seed),
                (_flat(z), statistics.numpy(), _flat(grad_z)),
                tuple(_flat(x) for x in (grad_q, grad_k, grad_v, partial_k, partial_v)),
                table_sums,
            )
        _join(plan, in_parts, (grad_k, partial_k), (grad_v, partial_v))
        grad_tables = [t if t is None else _from_lanes(sums, t) for t, sums in zip(tables, table_sums, strict=True)]
        return grad_q, grad_k, grad_v, *grad_tables, None, None, None, None


def _flat(x: Tensor) -> Array:
    """Return the memory from the tensor's first element to its last as one array."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True)) if x.numel() else 0
    return x.detach().as_strided((length,), (1,)).numpy()


def _flat_table(table: Tensor | None, like: Tensor) -> Array:
    return np.empty(0, like.detach().numpy().dtype) if table is None else _flat(table)


def _sizes(q: Tensor, k: Tensor, v: Tensor, tables: list[Tensor | None], key_self: bool) -> Array:
    """Return H, D, R, whether the key term is the query's own, and the strides of nodes and heads of q, k and v."""
    rows = max((len(table) for table in tables if table is not None), default=0)
    return np.array([*q.shape[1:], rows, key_self, *q.stride()[:2], *k.stride()[:2], *v.stride()[:2]], np.int64)


def _typed(q: Tensor, dropout: float, seed: int) -> tuple[Any, float, Any]:
    """Return 1 / sqrt(D) in the type of q, the dropout, and the seed unsigned: one type each, whatever the values."""
    return q.detach().numpy().dtype.type(1.0 / math.sqrt(q.shape[2])), float(dropout), np.uint64(seed)


def _join(plan: Plan, in_parts: Array, *gradients: tuple[Tensor, Tensor]) -> None:
    """Add up the parts of the graphs that several threads worked on, in the order of the threads."""
    for grad, partial in gradients:
        for graph in np.unique(in_parts[:, 0]):
            first, last = plan.node_offsets[graph], plan.node_offsets[graph + 1]
            starts = in_parts[in_parts[:, 0] == graph, 3]
            grad[first:last] = partial[starts[0] : starts[0] + last - first]
            for start in starts[1:]:
                grad[first:last] += partial[start : start + last - first]


def _from_lanes(sums: Array, table: Tensor) -> Tensor:
    """Return the gradient of a table, (R, H, D), from every thread's (groups, R, width, LANES)."""
    num_relations, num_heads, head_size = table.shape
    groups = -(-num_heads // LANES)
    total = torch.from_numpy(sums).sum(0).view(groups, num_relations, -1, LANES)
    heads = total.permute(1, 0, 3, 2).reshape(num_relations, groups * LANES, -1)
    return heads[:, :num_heads, :head_size]
