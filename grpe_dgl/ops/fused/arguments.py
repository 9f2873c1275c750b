"""The arguments of the kernels, as named tuples.

Tensors are flat memory with strides, so that one compilation serves every layout. Inside a kernel the same tuples hold
pointers in place of addresses and arrays; see `ops.fused.pointers`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.ops.fused.plan import Plan

Array = npt.NDArray[Any]
Flat = npt.NDArray[Any] | int
"""The memory of a tensor: the address of its first element, or an array."""
ELEMENT: dict[torch.dtype, Array] = {torch.float32: np.empty(0, np.float32), torch.float64: np.empty(0, np.float64)}
"""An empty array for each type of tensor: from it a kernel knows what is at the addresses it gets."""


class Shape(NamedTuple):
    """Sizes of the operands, and of their copies in the kernels' layout (`ops.fused.layout`)."""

    num_heads: int
    head_size: int
    num_relations: int
    """Rows of the tables; 0 without tables."""
    groups: int
    """How often the kernel passes over a graph: once for every `LANES` heads."""
    width: int
    """The head size, made even."""


class Operand(NamedTuple):
    """A tensor of shape (N, H, D): element (i, h, d) is array[i * node_stride + h * head_stride + d]."""

    array: Flat
    node_stride: int
    head_stride: int


class Tables(NamedTuple):
    """The tables by use; flat (R, H, D) from Python, in the kernels' layout inside a kernel. Address 0 if absent."""

    query: Flat
    key: Flat
    value: Flat


class Terms(NamedTuple):
    """Which terms there are besides q . k and v."""

    query: bool
    """q_i . query_table[r]."""
    key: bool
    """k_j . key_table[r]: ``key_term="neighbour"``."""
    own_key: bool
    """k_i . key_table[r]: ``key_term="self"``."""
    value: bool
    """value_table[r]."""


class Inputs(NamedTuple):
    """What the forward and the backward kernel read."""

    plan: Plan
    shape: Shape
    q: Operand
    k: Operand
    v: Operand
    tables: Tables
    terms: Terms
    scale: float
    """1 / sqrt(D)."""
    dropout: float
    seed: np.uint64
    element: Array
    """An empty array of the type of the tensors' elements."""


class Outputs(NamedTuple):
    """What the forward kernel writes, and the backward kernel reads."""

    z: Flat
    """Flat (N, H, D)."""
    statistics: Flat
    """Flat (N, groups, 2, LANES): the maximum of a query's scores, and one over the sum of their exponentials."""


class Gradients(NamedTuple):
    """What the backward kernel writes."""

    q: Operand
    k: Operand
    """The rows of graphs that are cut into pieces are left to `partial_k`."""
    v: Operand
    """As k."""
    partial_k: Operand
    """(rows, H, D): the gradients of k of each piece of a graph that is cut; see `Plan.pieces`."""
    partial_v: Operand
    query_table: Flat
    """Flat (threads, groups, R, width, LANES): each thread's part of the gradient; address 0 without the table."""
    key_table: Flat
    value_table: Flat


class ForwardCall(NamedTuple):
    """The arguments of the forward kernel."""

    inputs: Inputs
    outputs: Outputs


class BackwardCall(NamedTuple):
    """The arguments of the backward kernel."""

    inputs: Inputs
    outputs: Outputs
    grad_z: Flat
    """Flat (N, H, D)."""
    gradients: Gradients
