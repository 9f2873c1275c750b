"""The kernels of `grpe_dgl.ops.gated_edges`: one pass over the edges forward and one backward, eight channels at once.

The rows of a graph's nodes are few enough to stay in the processor's cache, so that edges may come in any order.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.lanes import LANES, add, fma, load, mul, splat, store, sub
from grpe_dgl.ops.fused.pointers import advance, pointers
from grpe_dgl.ops.fused.sigmoid import sigmoid

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


class Forward(NamedTuple):
    """The arguments of `forward_kernel`; N nodes, E edges, w channels, every array flat."""

    shares: Integers
    """(threads + 1,): where each thread's edges begin; no node has edges of two threads."""
    width: int
    src: Integers
    dst: Integers
    source: Array
    """(N, w), as `target`, `neighbour`, `total` and `weights`."""
    target: Array
    neighbour: Array
    gate: Array
    """(E, w): read, and written with those of the ends added."""
    total: Array
    """Zeros, to which gated neighbours are added; `weights` likewise."""
    weights: Array


class Backward(NamedTuple):
    """The arguments of `backward_kernel`: the gates of the forward pass, and gradients."""

    shares: Integers
    width: int
    src: Integers
    dst: Integers
    neighbour: Array
    gate: Array
    of_total: Array
    of_weights: Array
    is_given: bool
    """Whether something else reads the gates, with the gradient `given`."""
    given: Array
    """(E, w), or of no use."""
    of_gate: Array
    """(E, w), written: `given`, and what comes from the nodes."""
    of_source: Array
    """(N, w) zeros, added to, as `of_target` and `of_neighbour`."""
    of_target: Array
    of_neighbour: Array


@compiled()
def forward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `Forward`, given as a plain tuple; see `kernels.openmp.run`."""
    fork(_forward_share, runtime, first, last, arguments)


@compiled()
def backward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `Backward`, given as a plain tuple."""
    fork(_backward_share, runtime, first, last, arguments)


@compiled(inner=True)
def _forward_share(thread, arguments):  # type: ignore[no-untyped-def]
    call = pointers(arguments, Forward)
    width = call.width
    whole = width // LANES
    for edge in range(call.shares[thread], call.shares[thread + 1]):
        u, v = call.src[edge] * width, call.dst[edge] * width
        gate, source, target = advance(call.gate, edge * width), advance(call.source, u), advance(call.target, v)
        neighbour, total, weights = advance(call.neighbour, u), advance(call.total, v), advance(call.weights, v)
        for j in range(whole):
            x = add(load(gate, j), add(load(source, j), load(target, j)))
            store(gate, j, x)
            s = sigmoid(x, gate)
            store(total, j, fma(s, load(neighbour, j), load(total, j)))
            store(weights, j, add(load(weights, j), s))
        for d in range(whole * LANES, width):
            gate[d] += source[d] + target[d]
            share = 1.0 / (1.0 + math.exp(-gate[d]))
            total[d] += share * neighbour[d]
            weights[d] += share


@compiled(inner=True)
def _backward_share(thread, arguments):  # type: ignore[no-untyped-def]
    call = pointers(arguments, Backward)
    width = call.width
    whole = width // LANES
    one = splat(1, call.gate)
    for edge in range(call.shares[thread], call.shares[thread + 1]):
        u, v = call.src[edge] * width, call.dst[edge] * width
        gate, of_gate = advance(call.gate, edge * width), advance(call.of_gate, edge * width)
        neighbour, of_total, of_weights = (
            advance(call.neighbour, u),
            advance(call.of_total, v),
            advance(call.of_weights, v),
        )
        of_source, of_target = advance(call.of_source, u), advance(call.of_target, v)
        of_neighbour, given = advance(call.of_neighbour, u), advance(call.given, edge * width)
        for j in range(whole):
            s, g = sigmoid(load(gate, j), gate), load(of_total, j)
            store(of_neighbour, j, fma(s, g, load(of_neighbour, j)))
            of_share = fma(g, load(neighbour, j), load(of_weights, j))
            x = mul(of_share, mul(s, sub(one, s)))
            if call.is_given:
                x = add(x, load(given, j))
            store(of_gate, j, x)
            store(of_source, j, add(load(of_source, j), x))
            store(of_target, j, add(load(of_target, j), x))
        for d in range(whole * LANES, width):
            share = 1.0 / (1.0 + math.exp(-gate[d]))
            of_neighbour[d] += share * of_total[d]
            of_gate[d] = (of_total[d] * neighbour[d] + of_weights[d]) * share * (1.0 - share)
            if call.is_given:
                of_gate[d] += given[d]
            of_source[d] += of_gate[d]
            of_target[d] += of_gate[d]
