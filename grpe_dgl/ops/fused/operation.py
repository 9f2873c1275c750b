"""Relative attention as one CPU kernel forward and one backward."""

import math
from typing import Any, NamedTuple

import dgl
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grpe_dgl.kernels.openmp import run
from grpe_dgl.ops.fused.arguments import (
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
from grpe_dgl.ops.fused.plan import Plan, plan_of
from grpe_dgl.ops.fused.pointers import plain
from grpe_dgl.ops.inputs import AttentionInputs

WORK_PER_THREAD = 2048  # pairs of eight heads: fewer take no longer than it takes to wake a thread


def fused_attention(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> Tensor:
    """Return z of `grpe_dgl.ops.relative_attention`, shape (N, H, D)."""
    work = pairs.num_edges() * -(-inputs.q.shape[1] // LANES)
    options = Options(
        plan_of(pairs, min(torch.get_num_threads(), 1 + work // WORK_PER_THREAD)),
        inputs.key_term == "self",
        inputs.dropout,
        int(torch.randint(2**62, ())) if inputs.dropout else 0,
    )
    z: Tensor = _FusedAttention.apply(inputs.q, inputs.k, inputs.v, *inputs.tables, options)
    return z


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
        inputs = kernel_inputs(q, k, v, tables, options)
        z = torch.empty(q.shape, dtype=q.dtype)
        statistics = torch.empty(len(q) * inputs.shape.groups * 2 * LANES, dtype=q.dtype)
        if z.numel():
            outputs = Outputs(flat(z), statistics.numpy())
            run(forward_kernel, len(options.plan.shares) - 1, plain(ForwardCall(inputs, outputs)))
        ctx.save_for_backward(q, k, v, *tables, z, statistics)
        ctx.options = options
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_z: Tensor) -> Any:
        q, k, v, *tables, z, statistics = ctx.saved_tensors
        plan = ctx.options.plan
        inputs = kernel_inputs(q, k, v, tables, ctx.options)
        grad_q, grad_k, grad_v = (torch.empty_like(z) for _ in range(3))
        in_parts = plan.pieces[plan.pieces[:, 3] >= 0]
        partial_rows = int(sum(plan.node_offsets[g + 1] - plan.node_offsets[g] for g in in_parts[:, 0]))
        partial_k, partial_v = torch.empty(2, partial_rows, *q.shape[1:], dtype=q.dtype)
        gradients = Gradients(
            *(flat(x) for x in (grad_q, grad_k, grad_v, partial_k, partial_v)),
            *(_new_table_sums(table, inputs.shape, len(plan.shares) - 1, z.numpy().dtype) for table in tables),
        )
        if z.numel():
            outputs = Outputs(flat(z), statistics.numpy())
            call = BackwardCall(inputs, outputs, flat(grad_z.contiguous()), gradients)
            run(backward_kernel, len(plan.shares) - 1, plain(call))
        _join(plan, in_parts, (grad_k, partial_k), (grad_v, partial_v))
        grad_tables = [
            table if table is None else _from_lanes(sums, table, inputs.shape)
            for table, sums in zip(tables, gradients[5:], strict=True)
        ]
        return grad_q, grad_k, grad_v, *grad_tables, None


def kernel_inputs(q: Tensor, k: Tensor, v: Tensor, tables: list[Tensor | None], options: Options) -> Inputs:
    """Return the arguments of both kernels: every field has one type for all values, so none compiles anew."""
    dtype = q.detach().numpy().dtype
    _, num_heads, head_size = q.shape
    num_relations = max((len(table) for table in tables if table is not None), default=0)
    return Inputs(
        options.plan,
        Shape(num_heads, head_size, num_relations, -(-num_heads // LANES), head_size + head_size % 2),
        _operand(q),
        _operand(k),
        _operand(v),
        Tables(*(np.empty(0, dtype) if table is None else flat(table) for table in tables)),
        Terms(
            query=tables[0] is not None,
            key=tables[1] is not None and not options.key_self,
            own_key=tables[1] is not None and options.key_self,
            value=tables[2] is not None,
        ),
        1.0 / math.sqrt(head_size),
        float(options.dropout),
        np.uint64(options.seed),
    )


def _operand(x: Tensor) -> Operand:
    return Operand(flat(x), x.stride(0), x.stride(1))


def flat(x: Tensor) -> Array:
    """Return the memory from the tensor's first element to its last as one array."""
    if x.is_contiguous():
        return x.detach().view(-1).numpy()
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return x.detach().as_strided((length,), (1,)).numpy()


def _new_table_sums(table: Tensor | None, shape: Shape, threads: int, dtype: np.dtype[Any]) -> Array:
    """Return zeros for every thread's gradient of a table, flat (threads, groups, R, width, LANES)."""
    size = 0 if table is None else threads * shape.groups * shape.num_relations * shape.width * LANES
    return np.zeros(size, dtype)


def _join(plan: Plan, in_parts: Array, *gradients: tuple[Tensor, Tensor]) -> None:
    """Add up the partial gradients of the graphs that are cut into pieces, in the order of the threads."""
    for grad, partial in gradients:
        for graph in np.unique(in_parts[:, 0]):
            first, last = plan.node_offsets[graph], plan.node_offsets[graph + 1]
            starts = in_parts[in_parts[:, 0] == graph, 3]
            grad[first:last] = partial[starts[0] : starts[0] + last - first]
            for start in starts[1:]:
                grad[first:last] += partial[start : start + last - first]


def _from_lanes(sums: Array, table: Tensor, shape: Shape) -> Tensor:
    """Return the gradient of a table, (R, H, D), from every thread's (groups, R, width, LANES)."""
    num_relations, num_heads, head_size = table.shape
    total = torch.from_numpy(sums).view(-1, shape.groups, num_relations, shape.width, LANES).sum(0)
    heads = total.permute(1, 0, 3, 2).reshape(num_relations, shape.groups * LANES, shape.width)
    return heads[:, :num_heads, :head_size]
