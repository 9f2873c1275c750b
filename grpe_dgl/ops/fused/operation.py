"""Relative attention as one CPU kernel forward and one backward."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import dgl
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grpe_dgl.kernels.openmp import run
from grpe_dgl.ops.fused.arguments import (
    ELEMENT,
    Array,
    BackwardCall,
    ForwardCall,
    Gradients,
    Inputs,
    Operand,
    Outputs,
    Shape,
    Tables,
    Terms,
)
from grpe_dgl.ops.fused.backward import backward_kernel
from grpe_dgl.ops.fused.forward import forward_kernel
from grpe_dgl.ops.fused.lanes import LANES
from grpe_dgl.ops.fused.plan import Plan, first_query_plan, plan_of
from grpe_dgl.ops.fused.pointers import plain
from grpe_dgl.ops.inputs import AttentionInputs

WORK_PER_THREAD = 2048  # pairs of eight heads: fewer take no longer than it takes to wake a thread


def fused_attention(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D)."""
    options = Options(
        plan_for(pairs, inputs.q.shape[1]),
        inputs.key_term == "self",
        inputs.dropout,
        int(torch.randint(2**62, ())) if inputs.dropout else 0,
    )
    z: Tensor = _FusedAttention.apply(inputs.q, inputs.k, inputs.v, *inputs.tables, options)
    return z


def plan_for(pairs: dgl.DGLGraph, num_heads: int, *, first_queries: bool = False) -> Plan:
    """Return the plan for torch's threads, or fewer if there is little to do.

    `first_queries` leaves out all queries but the first node of every graph.
    """
    queries = pairs.num_nodes() if first_queries else pairs.num_edges()  # a query has as many pairs as nodes
    work = queries * -(-num_heads // LANES)
    return (first_query_plan if first_queries else plan_of)(
        pairs, min(torch.get_num_threads(), 1 + work // WORK_PER_THREAD)
    )


class Options(NamedTuple):
    """What the operation depends on besides its tensors."""

    plan: Plan
    key_self: bool
    dropout: float
    seed: int


class _FusedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> Tensor:
        *tables, options = others
        q, k, v = (x if x.stride(2) == 1 else x.contiguous() for x in (q, k, v))
        tables = [table if table is None else table.contiguous() for table in tables]
        z, statistics = attend(q, k, v, tables, options)
        ctx.save_for_backward(q, k, v, *tables, z, statistics)
        ctx.options = options
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_z: Tensor) -> Any:
        q, k, v, *tables, z, statistics = ctx.saved_tensors
        grad, grad_tables = attention_gradients(q, k, v, tables, ctx.options, z, statistics, grad_z.contiguous())
        return *grad.unbind(1), *grad_tables, None


def attend(q: Tensor, k: Tensor, v: Tensor, tables: Sequence[Tensor | None], options: Options) -> tuple[Tensor, Tensor]:
    """Return z, (N, H, D), and the softmax's statistics that `attention_gradients` needs.

    The last axis of q, k and v and all of the tables are contiguous.
    """
    inputs = kernel_inputs(q, k, v, tables, options)
    z = torch.empty(q.shape, dtype=q.dtype)
    statistics = torch.empty(len(q) * inputs.shape.groups * 2 * LANES, dtype=q.dtype)
    if z.numel():
        outputs = Outputs(z.data_ptr(), statistics.data_ptr())
        run(forward_kernel, len(options.plan.shares) - 1, plain(ForwardCall(inputs, outputs)))
    return z, statistics


def attention_gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    tables: Sequence[Tensor | None],
    options: Options,
    z: Tensor,
    statistics: Tensor,
    grad_z: Tensor,
    *,
    some_queries: bool = False,
) -> tuple[Tensor, list[Tensor | None]]:
    """Return the gradients of q, k and v as one tensor, (N, 3, H, D), and those of the tables.

    z and statistics are those of `attend`, its other arguments the same; grad_z is contiguous. `some_queries` is
    whether the plan leaves out queries, whose gradients are then zero.
    """
    plan, threads = options.plan, len(options.plan.shares) - 1
    inputs = kernel_inputs(q, k, v, tables, options)
    shape = inputs.shape
    grad = (torch.zeros if some_queries else torch.empty)(len(q), 3, *q.shape[1:], dtype=q.dtype)
    cut = plan.pieces[plan.pieces[:, 3] >= 0] if threads > 1 else plan.pieces[:0]  # of graphs in several pieces
    partial_rows = int(sum(plan.node_offsets[g + 1] - plan.node_offsets[g] for g in cut[:, 0]))
    partial = torch.empty(2, partial_rows, *q.shape[1:], dtype=q.dtype)
    sums = torch.zeros(3, threads, shape.groups, shape.num_relations, shape.width, LANES, dtype=q.dtype)
    query, key, value = (0 if table is None else own.data_ptr() for own, table in zip(sums, tables, strict=True))
    grad_q, grad_k, grad_v = (_operand(x) for x in grad.unbind(1))
    gradients = Gradients(grad_q, grad_k, grad_v, _operand(partial[0]), _operand(partial[1]), query, key, value)
    if z.numel():
        outputs = Outputs(z.data_ptr(), statistics.data_ptr())
        run(backward_kernel, threads, plain(BackwardCall(inputs, outputs, grad_z.data_ptr(), gradients)))
    for own, parts in ((grad[:, 1], partial[0]), (grad[:, 2], partial[1])):
        _join(plan, cut, own, parts)
    return grad, [table if table is None else own for own, table in zip(_from_lanes(sums, shape), tables, strict=True)]


def kernel_inputs(q: Tensor, k: Tensor, v: Tensor, tables: Sequence[Tensor | None], options: Options) -> Inputs:
    """Return the arguments of both kernels: every field has one type for all values, so none compiles anew.

    They hold the tensors' addresses: the caller keeps the tensors.
    """
    _, num_heads, head_size = q.shape
    query, key, value = tables
    num_relations = max((len(table) for table in tables if table is not None), default=0)
    return Inputs(
        options.plan,
        Shape(num_heads, head_size, num_relations, -(-num_heads // LANES), head_size + head_size % 2),
        _operand(q),
        _operand(k),
        _operand(v),
        Tables(*(0 if table is None else table.data_ptr() for table in tables)),
        Terms(
            query=query is not None,
            key=key is not None and not options.key_self,
            own_key=key is not None and options.key_self,
            value=value is not None,
        ),
        1.0 / math.sqrt(head_size),
        float(options.dropout),
        np.uint64(options.seed),
        ELEMENT[q.dtype],
    )


def _operand(x: Tensor) -> Operand:
    return Operand(x.data_ptr(), x.stride(0), x.stride(1))


def _join(plan: Plan, cut: Array, grad: Tensor, partial: Tensor) -> None:
    """Add up the partial gradients of the graphs that are cut into pieces, in the order of the threads."""
    for graph in np.unique(cut[:, 0]) if len(cut) else ():
        first, last = plan.node_offsets[graph], plan.node_offsets[graph + 1]
        starts = cut[cut[:, 0] == graph, 3]
        grad[first:last] = partial[starts[0] : starts[0] + last - first]
        for start in starts[1:]:
            grad[first:last] += partial[start : start + last - first]


def _from_lanes(sums: Tensor, shape: Shape) -> tuple[Tensor, ...]:
    """Return the gradients of the tables, (R, H, D) each, from (3, threads, groups, R, width, LANES)."""
    total = sums[:, 0] if sums.shape[1] == 1 else sums.sum(1)
    heads = total.permute(0, 2, 1, 4, 3).reshape(3, shape.num_relations, shape.groups * LANES, shape.width)
    return heads[:, :, : shape.num_heads, : shape.head_size].unbind()
