"""The arguments of the kernels, as named tuples.

Tensors are flat arrays with strides, so that one compilation serves every layout. Inside a kernel the same tuples hold
pointers in place of arrays; see `ops.fused.pointers`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grpe_dgl.ops.fused.plan import Plan

Array = npt.NDArray[Any]


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

    array: Array
    node_stride: int
    head_stride: int


class Tables(NamedTuple):
    """The tables by use; flat (R, H, D) from Python, and in the kernels' layout inside a kernel. Empty if absent."""

    query: Array
    key: Array
    value: Array


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


class Outputs(NamedTuple):
    """What the forward kernel writes, and the backward kernel reads."""

    z: Array
    """Flat (N, H, D)."""
    statistics: Array
    """Flat (N, groups, 2, LANES): the maximum of a query's scores, and one over the sum of their exponentials."""


class Gradients(NamedTuple):
    """What the backward kernel writes."""

    q: Array
    """Flat (N, H, D)."""
    k: Array
    """Flat (N, H, D); the rows of graphs that are cut into pieces are left to `partial_k`."""
    v: Array
    """Flat (N, H, D), as k."""
    partial_k: Array
    """Flat (rows, H, D): the gradients of k of each piece of a graph that is cut; see `Plan.pieces`."""
    partial_v: Array
    """Flat (rows, H, D)."""
    query_table: Array
    """Flat (threads, groups, R, width, LANES): each thread's part of the gradient; empty without the table."""
    key_table: Array
    value_table: Array


class ForwardCall(NamedTuple):
    """The arguments of the forward kernel."""

    inputs: Inputs
    outputs: Outputs


class BackwardCall(NamedTuple):
    """The arguments of the backward kernel."""

    inputs: Inputs
    outputs: Outputs
    grad_z: Array
    """Flat (N, H, D)."""
    gradients: Gradients
