"""The forward kernel for every layer of a model without gradients: on the same memory, with the same arguments."""

from typing import NamedTuple

import dgl
import torch
from torch import Tensor

from grpe_dgl.kernels.openmp import run
from grpe_dgl.ops.fused.arguments import ForwardCall, Outputs
from grpe_dgl.ops.fused.forward import forward_kernel
from grpe_dgl.ops.fused.lanes import LANES
from grpe_dgl.ops.fused.operation import Options, kernel_inputs
from grpe_dgl.ops.fused.plan import Plan, plans_of_groups
from grpe_dgl.ops.fused.pointers import plain


class RepeatedAttention:
    """Relative attention from one buffer to another, called once for each layer.

    Parameters
    ----------
    plan
        Of the graphs whose nodes the buffers have.
    query_key_value
        The buffer that is read: (N, 3, H, D), contiguous.
    z
        The buffer that is written: (N, H, D), contiguous.
    tables
        Query, key and value table, (R, H, D) each or None.
    key_self
        Whether the key term is that of the query's own node.
    """

    def __init__(
        self, plan: Plan, query_key_value: Tensor, z: Tensor, tables: tuple[Tensor | None, ...], key_self: bool
    ) -> None:
        given = [table if table is None else table.contiguous() for table in tables]
        options = Options(plan, key_self, 0.0, 0)
        q, k, v = query_key_value.unbind(1)
        inputs = kernel_inputs(q, k, v, given, options)
        statistics = torch.empty(len(z) * inputs.shape.groups * 2 * LANES, dtype=z.dtype)
        self._kept = [*given, query_key_value, z, statistics]  # the kernel gets their addresses
        self._shares = len(plan.shares) - 1
        self._arguments = plain(ForwardCall(inputs, Outputs(z.data_ptr(), statistics.data_ptr())))

    def __call__(self) -> None:
        """Write z of what the buffer of queries, keys and values has now."""
        run(forward_kernel, self._shares, self._arguments)


class Group(NamedTuple):
    """Consecutive graphs of a batch that are computed together."""

    first_node: int
    last_node: int
    """One past the last."""
    plan: Plan
    first_queries: Plan
    """The work for the first node of each graph alone: its virtual node, which predictions are read from."""


def groups_of(pairs: dgl.DGLGraph, most_nodes: int, threads: int) -> list[Group]:
    """Return the graphs of a complete pair graph in groups of at most `most_nodes` nodes, or of one graph."""
    return [Group(*group) for group in plans_of_groups(pairs, most_nodes, threads)]
