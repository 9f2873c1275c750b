"""The kernels of `grpe_dgl.ops.gated_attention`, query by query, eight heads at a time.

Of the pairs the scores are written out, since the edge channel reads them; weights, gates and masks are computed again
in the backward pass.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.dropout_mask import keep_factors, row_key
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import (
    LANES,
    add,
    div,
    fma,
    inline,
    load,
    maximum,
    mul,
    splat,
    store,
    sub,
    where_negative,
)
from grpe_dgl.ops.fused.pointers import dtype_of, keep_alive, pointers

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


class Options(NamedTuple):
    """What both kernels read besides tensors."""

    head_size: int
    groups: int
    """Vectors of eight heads."""
    scale: float
    limit: float
    hidden: float
    """The probability that a head does not see a key."""
    hidden_seed: np.uint64
    dropout: float
    dropout_seed: np.uint64


class Forward(NamedTuple):
    """The arguments of `forward_kernel`; N nodes, M pairs, D head size, G groups, every array flat."""

    options: Options
    shares: Integers
    """(threads + 1,): where each thread's graphs begin."""
    node_offsets: Integers
    pair_offsets: Integers
    qkv: Array
    """(N, 3, D, G)."""
    maps: Array
    """(M, 2, G): b and c."""
    scores: Array
    """(M, G), written."""
    z: Array
    """(N, D, G), written."""
    degree: Array
    """(N, G), written: the sum of the gates."""
    statistics: Array
    """(N, G, 2), written: the largest score that is seen, and one over the sum of the weights."""


class Backward(NamedTuple):
    """The arguments of `backward_kernel`: those of the forward pass, and gradients."""

    forward: Forward
    of_scores: Array
    of_z: Array
    of_degree: Array
    of_qkv: Array
    """Written; zeros before."""
    of_maps: Array
    """Written."""


@compiled()
def forward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `Forward`, given as plain tuples; see `kernels.openmp.run`."""
    if fork(_forward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled()
def backward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `Backward`, given as plain tuples."""
    if fork(_backward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled(inner=True)
def _forward_share(thread, arguments):  # type: ignore[no-untyped-def]
    call = pointers(arguments, Forward)
    sums = np.empty(call.options.head_size * LANES, dtype_of(call.qkv))
    for graph in range(call.shares[thread], call.shares[thread + 1]):
        first, n = call.node_offsets[graph], call.node_offsets[graph + 1] - call.node_offsets[graph]
        for i in range(n):
            for group in range(call.options.groups):
                _attend(call, first, n, first + i, call.pair_offsets[graph] + i * n, group, sums)
    keep_alive(sums)


@compiled(inner=True)
def _attend(call, first, n, node, pair, group, sums):  # type: ignore[no-untyped-def]
    """Compute one query; `pair` is the first of its n pairs."""
    options, qkv = call.options, call.qkv
    width, groups = options.head_size, options.groups
    zero, half = splat(0, qkv), splat(0.5, qkv)
    scale, limit = splat(options.scale, qkv), splat(options.limit, qkv)
    hidden_key, dropout_key = row_key(options.hidden_seed, node), row_key(options.dropout_seed, node)
    most = splat(-np.inf, qkv)
    for j in range(n):
        s = add(
            _clip(mul(_dot(qkv, 3 * node, qkv, 3 * (first + j) + 1, width, groups, group), scale), limit),
            load(call.maps, 2 * (pair + j) * groups + group),
        )
        store(call.scores, (pair + j) * groups + group, s)
        if options.hidden > 0:
            seen = _keep(hidden_key, j, group, groups, options.hidden, 1.0, qkv)
            s = where_negative(sub(seen, half), most, s)
        most = maximum(most, s)
    for d in range(width):
        store(sums, d, zero)
    weights, degree = zero, zero
    for j in range(n):
        w = exp(sub(load(call.scores, (pair + j) * groups + group), most))
        if options.hidden > 0:
            seen = _keep(hidden_key, j, group, groups, options.hidden, 1.0, qkv)
            w = where_negative(sub(seen, half), zero, w)
        weights = add(weights, w)
        gate = _sigmoid(load(call.maps, (2 * (pair + j) + 1) * groups + group), qkv)
        degree = add(degree, gate)
        w = mul(w, gate)
        if options.dropout > 0:
            w = mul(w, _keep(dropout_key, j, group, groups, options.dropout, 1.0 / (1.0 - options.dropout), qkv))
        value = (3 * (first + j) + 2) * width * groups + group
        for d in range(width):
            store(sums, d, fma(w, load(qkv, value + d * groups), load(sums, d)))
    # A query that sees no key has zeros, and NaN stays NaN.
    share = where_negative(sub(zero, weights), div(splat(1, qkv), weights), weights)
    at = node * groups + group
    for d in range(width):
        store(call.z, (node * width + d) * groups + group, mul(load(sums, d), share))
    store(call.degree, at, degree)
    store(call.statistics, 2 * at, most)
    store(call.statistics, 2 * at + 1, share)


@compiled(inner=True)
def _backward_share(thread, arguments):  # type: ignore[no-untyped-def]
    call = pointers(arguments, Backward)
    forward = call.forward
    largest = 0
    for graph in range(forward.shares[thread], forward.shares[thread + 1]):
        largest = max(largest, forward.node_offsets[graph + 1] - forward.node_offsets[graph])
    rows = np.empty(2 * largest * LANES, dtype_of(forward.qkv))
    for graph in range(forward.shares[thread], forward.shares[thread + 1]):
        first, n = forward.node_offsets[graph], forward.node_offsets[graph + 1] - forward.node_offsets[graph]
        for i in range(n):
            for group in range(forward.options.groups):
                _differentiate(call, first, n, first + i, forward.pair_offsets[graph] + i * n, group, rows)
    keep_alive(rows)


@compiled(inner=True)
def _differentiate(call, first, n, node, pair, group, rows):  # type: ignore[no-untyped-def]
    """Add one query's part of the gradients; `rows` holds each key's weight and its gradient."""
    forward = call.forward
    options, qkv = forward.options, forward.qkv
    width, groups = options.head_size, options.groups
    zero, half, one = splat(0, qkv), splat(0.5, qkv), splat(1, qkv)
    scale, limit = splat(options.scale, qkv), splat(options.limit, qkv)
    hidden_key, dropout_key = row_key(options.hidden_seed, node), row_key(options.dropout_seed, node)
    at = node * groups + group
    most, share = load(forward.statistics, 2 * at), load(forward.statistics, 2 * at + 1)
    of_degree = load(call.of_degree, at)
    own_z = node * width * groups + group
    common = zero
    for j in range(n):
        w = mul(exp(sub(load(forward.scores, (pair + j) * groups + group), most)), share)
        if options.hidden > 0:
            seen = _keep(hidden_key, j, group, groups, options.hidden, 1.0, qkv)
            w = where_negative(sub(seen, half), zero, w)
        at_gate = (2 * (pair + j) + 1) * groups + group
        gate = _sigmoid(load(forward.maps, at_gate), qkv)
        kept = one
        if options.dropout > 0:
            kept = _keep(dropout_key, j, group, groups, options.dropout, 1.0 / (1.0 - options.dropout), qkv)
        mixed = mul(mul(w, gate), kept)
        value = (3 * (first + j) + 2) * width * groups + group
        of_mixed = zero
        for d in range(width):
            dz = load(call.of_z, own_z + d * groups)
            of_mixed = fma(dz, load(qkv, value + d * groups), of_mixed)
            store(call.of_qkv, value + d * groups, fma(mixed, dz, load(call.of_qkv, value + d * groups)))
        of_mixed = mul(of_mixed, kept)
        of_gate = add(mul(of_mixed, w), of_degree)
        store(call.of_maps, at_gate, mul(of_gate, mul(gate, sub(one, gate))))
        of_weight = mul(of_mixed, gate)
        common = fma(w, of_weight, common)
        store(rows, 2 * j, w)
        store(rows, 2 * j + 1, of_weight)
    query = 3 * node * width * groups + group
    for j in range(n):
        of_score = mul(load(rows, 2 * j), sub(load(rows, 2 * j + 1), common))
        of_score = add(of_score, load(call.of_scores, (pair + j) * groups + group))
        store(call.of_maps, 2 * (pair + j) * groups + group, of_score)
        x = mul(_dot(qkv, 3 * node, qkv, 3 * (first + j) + 1, width, groups, group), scale)
        clipped = sub(limit, maximum(x, sub(zero, x)))
        of_product = where_negative(clipped, zero, mul(of_score, scale))
        key = (3 * (first + j) + 1) * width * groups + group
        for d in range(width):
            own, other = query + d * groups, key + d * groups
            store(call.of_qkv, own, fma(of_product, load(qkv, other), load(call.of_qkv, own)))
            store(call.of_qkv, other, fma(of_product, load(qkv, own), load(call.of_qkv, other)))


@compiled(inner=True)
def _dot(a, row_a, b, row_b, width, groups, group):  # type: ignore[no-untyped-def]
    """Return the product of two rows in every head."""
    inline()
    found = splat(0, a)
    at_a, at_b = row_a * width * groups + group, row_b * width * groups + group
    for d in range(width):
        found = fma(load(a, at_a + d * groups), load(b, at_b + d * groups), found)
    return found


@compiled(inner=True)
def _clip(x, limit):  # type: ignore[no-untyped-def]
    inline()
    x = where_negative(add(x, limit), sub(sub(limit, limit), limit), x)
    return where_negative(sub(limit, x), limit, x)


@compiled(inner=True)
def _sigmoid(x, like):  # type: ignore[no-untyped-def]
    inline()
    zero, one = splat(0, like), splat(1, like)
    small = exp(sub(zero, maximum(x, sub(zero, x))))
    share = div(one, add(one, small))
    return where_negative(x, mul(small, share), share)


@compiled(inner=True)
def _keep(key, j, group, groups, probability, factor, like):  # type: ignore[no-untyped-def]
    """Return `factor` in the lanes that are kept for key j, and 0 in the others."""
    inline()
    threshold = np.int64(probability * 4294967296.0)
    return keep_factors(key, (j * groups + group) * LANES, threshold, splat(factor, like))
