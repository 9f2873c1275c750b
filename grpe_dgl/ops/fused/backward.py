"""The backward kernel: the weights are computed again from the scores, tile by tile, and never stored.

With t_i = grad_z_i . z_i, and m_ij the dropout factor of the weight w_ij = p_ij m_ij::

    grad of the score  g_ij = p_ij (m_ij (grad_z_i . (v_j + value_table[r])) - t_i)

from which every other gradient is a sum: over j for q_i and the lookups of query i, over i for k_j and its lookups.
"""

from typing import NamedTuple

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.arguments import Array, BackwardCall, Operand, Tables
from grpe_dgl.ops.fused.buffers import (
    GraphBuffers,
    QueryBuffers,
    Tile,
    largest,
    load_graph,
    load_queries,
    load_tables,
    multiply,
    new_graph_buffers,
    new_query_buffers,
    new_tables,
    piece_of,
)
from grpe_dgl.ops.fused.dropout_mask import fill_keep_mask
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.graph_gradients import add_lookup_gradients, clear_graph, write_graph
from grpe_dgl.ops.fused.lanes import LANES, add, fma, inline, load, mul, noinline, splat, store, sub
from grpe_dgl.ops.fused.layout import clear, even, gather, scatter
from grpe_dgl.ops.fused.pointers import dtype_of, keep_alive, pointers
from grpe_dgl.ops.fused.products import KEYS, QUERIES, ROWS, dot_rows, mix_rows, spread_rows


class Buffers(NamedTuple):
    """What a thread works on."""

    graph: GraphBuffers
    grad_graph: GraphBuffers
    queries: QueryBuffers
    grad_queries: QueryBuffers
    outputs: Array
    """(queries, width): z."""
    grad_outputs: Array
    """(queries, width): the gradient of z."""
    value_lookup: Array
    """(queries, num_used): grad_z_i . value_table[r]."""
    mass: Array
    """(queries, num_used): the sum of the weights of each query's keys of each relation."""
    softmax: Array
    """(queries, 3): maximum, one over the sum, grad_z . z."""
    scores: Array
    """(ROWS, KEYS): the scores of a tile, then their gradients."""
    weights: Array
    """(ROWS, KEYS): grad_z . v of a tile, then its weights."""
    keep_mask: Array
    """(ROWS, KEYS): the dropout factors of a tile; ones without dropout."""


class Memory(NamedTuple):
    """What a thread allocates."""

    tables: Tables
    buffers: Buffers


@compiled()
def backward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `BackwardCall`, given as plain tuples; see `kernels.openmp.run`."""
    if fork(_backward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled(inner=True)
def _backward_share(thread, arguments):  # type: ignore[no-untyped-def]
    inputs, outputs, grad_z, gradients = pointers(arguments, BackwardCall)
    memory = Memory(new_tables(inputs), _new_buffers(inputs, thread))
    tables, buffers = pointers(memory, Memory)
    plan, shape = inputs.plan, inputs.shape
    load_tables(inputs, tables)
    for index in range(plan.shares[thread], plan.shares[thread + 1]):
        piece = piece_of(plan, index)
        for group in range(shape.groups):
            load_graph(inputs, tables, piece, group, buffers.graph)
            clear_graph(piece, shape.width, buffers.grad_graph)
            for top in range(piece.first_query, piece.last_query, QUERIES):
                count = min(QUERIES, piece.last_query - top)
                load_queries(inputs, piece, group, buffers.graph, top, count, buffers.mass, buffers.queries)
                _load_outputs(inputs, piece, group, top, count, outputs, grad_z, buffers)
                for first_key in range(0, piece.num_nodes, KEYS):
                    for row in range(0, count, ROWS):
                        tile = Tile(
                            piece.first_pair,
                            piece.num_nodes,
                            piece.num_used,
                            top + row,
                            row,
                            first_key,
                            min(KEYS, piece.num_nodes - first_key),
                        )
                        _attend(inputs, tile, piece.first_node + top + row, group, buffers)
                add_lookup_gradients(inputs, piece.num_used, top, count, buffers)
                scatter(
                    buffers.grad_queries.vectors, count, shape, group, piece.first_node + top, inputs.scale, gradients.q
                )
            write_graph(inputs, piece, group, thread, buffers.graph, buffers.grad_graph, gradients)
    keep_alive(memory)


@compiled(inner=True)
def _new_buffers(inputs, thread):  # type: ignore[no-untyped-def]
    nodes, used = largest(inputs.plan, thread)
    shape, dtype = inputs.shape, dtype_of(inputs.q.array)
    row = shape.width * LANES
    return Buffers(
        new_graph_buffers(nodes, used, shape, dtype),
        new_graph_buffers(nodes, used, shape, dtype),
        new_query_buffers(used, shape, dtype),
        new_query_buffers(used, shape, dtype),
        np.empty(QUERIES * row, dtype),
        np.empty(QUERIES * row, dtype),
        np.zeros(QUERIES * used * LANES, dtype),  # zeros are kept without a value table
        np.empty(QUERIES * used * LANES, dtype),
        np.empty(QUERIES * 3 * LANES, dtype),
        np.empty(ROWS * KEYS * LANES, dtype),
        np.empty(ROWS * KEYS * LANES, dtype),
        np.ones(ROWS * KEYS * LANES, dtype),
    )


@compiled(inner=True)
def _load_outputs(inputs, piece, group, first, count, outputs, grad_z, buffers):  # type: ignore[no-untyped-def]
    """Load z, its gradient and the softmax of queries first..first+count-1, and clear what is summed up for them."""
    inline()
    shape, node = inputs.shape, piece.first_node + first
    width, num_used, rows = shape.width, piece.num_used, count + (-count) % ROWS
    node_stride = shape.num_heads * shape.head_size
    gather(Operand(outputs.z, node_stride, shape.head_size), node, count, shape, group, 1.0, rows, buffers.outputs)
    gather(Operand(grad_z, node_stride, shape.head_size), node, count, shape, group, 1.0, rows, buffers.grad_outputs)
    _load_softmax(count, node, shape, group, outputs.statistics, buffers.outputs, buffers.grad_outputs, buffers.softmax)
    if inputs.terms.value:
        multiply(buffers.grad_outputs, 0, count, buffers.graph.value_rows, width, buffers.value_lookup, num_used)
    clear(buffers.mass, 0, rows * num_used)
    clear(buffers.grad_queries.vectors, 0, rows * width)
    clear(buffers.grad_queries.lookup, 0, rows * num_used)


@compiled(inner=True)
def _load_softmax(count, first_node, shape, group, statistics, outputs, grad_outputs, softmax):  # type: ignore[no-untyped-def]
    """Set each query's maximum, one over the sum, and grad_z . z; a row past the last query gets weights of 0."""
    noinline()
    width, zero = shape.width, splat(0, outputs)
    for i in range(count + (-count) % ROWS):
        store(softmax, 3 * i, splat(1e30, outputs))
        store(softmax, 3 * i + 1, zero)
        store(softmax, 3 * i + 2, zero)
    for i in range(count):
        at = 2 * ((first_node + i) * shape.groups + group)
        store(softmax, 3 * i, load(statistics, at))
        store(softmax, 3 * i + 1, load(statistics, at + 1))
        total = zero
        for d in range(i * width, (i + 1) * width):
            total = fma(load(outputs, d), load(grad_outputs, d), total)
        store(softmax, 3 * i + 2, total)


@compiled(inner=True)
def _attend(inputs, tile, node, group, buffers):  # type: ignore[no-untyped-def]
    """Add a tile's part of every gradient; `node` is the first query's number in the batch."""
    inline()
    width, num_heads = inputs.shape.width, inputs.shape.num_heads
    graph, grad_graph, queries, grad_queries = buffers.graph, buffers.grad_graph, buffers.queries, buffers.grad_queries
    scores, weights, grad_outputs = buffers.scores, buffers.weights, buffers.grad_outputs
    at, to, columns = tile.row * width, tile.first_key * width, even(tile.num_keys)
    dot_rows(queries.vectors, at, graph.keys, to, columns, width, scores, 0, KEYS)
    dot_rows(grad_outputs, at, graph.values, to, columns, width, weights, 0, KEYS)
    if inputs.dropout > 0:
        counter = tile.first_key * num_heads + group * LANES
        fill_keep_mask(inputs.seed, node, counter, num_heads, inputs.dropout, tile.num_keys, buffers.keep_mask)
    _weigh(
        tile,
        inputs.plan.relation,
        queries.lookup,
        graph.key_lookup,
        buffers.value_lookup,
        buffers.keep_mask,
        buffers.softmax,
        scores,
        weights,
        buffers.mass,
        grad_queries.lookup,
        grad_graph.key_lookup,
        inputs.terms.key,
    )
    mix_rows(scores, 0, KEYS, graph.keys, to, tile.num_keys, width, grad_queries.vectors, at)
    spread_rows(scores, 0, KEYS, queries.vectors, at, width, grad_graph.keys, to, columns)
    spread_rows(weights, 0, KEYS, grad_outputs, at, width, grad_graph.values, to, columns)


@compiled(inner=True)
def _weigh(  # type: ignore[no-untyped-def]
    tile, relation, query_lookup, key_lookup, value_lookup, keep_mask, softmax, scores, weights, mass,
    grad_query_lookup, grad_key_lookup, by_key,
):  # fmt: skip
    """Turn a tile of q . k and grad_z . v into the gradients of scores, and the weights after dropout.

    `by_key` is whether the key term is looked up by the key.
    """
    noinline()
    n, num_used = tile.num_nodes, tile.num_used
    for a in range(ROWS):
        # A row past the last query takes the relations of the last; its weights are 0.
        pair = tile.first_pair + min(tile.query + a, n - 1) * n + tile.first_key
        row = tile.row + a
        own = row * num_used
        m, share, total = load(softmax, 3 * row), load(softmax, 3 * row + 1), load(softmax, 3 * row + 2)
        for j in range(tile.num_keys):
            r = relation[pair + j]
            at, other = a * KEYS + j, (tile.first_key + j) * num_used + r
            s = add(load(scores, at), add(load(query_lookup, own + r), load(key_lookup, other)))
            p = mul(exp(sub(s, m)), share)
            keep = load(keep_mask, at)
            w = mul(p, keep)
            grad_w = add(load(weights, at), load(value_lookup, own + r))
            grad_s = mul(p, sub(mul(grad_w, keep), total))
            store(weights, at, w)
            store(scores, at, grad_s)
            store(mass, own + r, add(load(mass, own + r), w))
            store(grad_query_lookup, own + r, add(load(grad_query_lookup, own + r), grad_s))
            if by_key:
                store(grad_key_lookup, other, add(load(grad_key_lookup, other), grad_s))
        if tile.num_keys % 2:  # the products take columns in twos
            store(scores, a * KEYS + tile.num_keys, splat(0, scores))
            store(weights, a * KEYS + tile.num_keys, splat(0, scores))
