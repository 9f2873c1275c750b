"""The forward kernel: z and, per node and head, the softmax's maximum and sum. Nothing per pair is written out."""

from typing import NamedTuple

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.arguments import Array, ForwardCall, Operand, Tables
from grpe_dgl.ops.fused.buffers import (
    GraphBuffers,
    QueryBuffers,
    Tile,
    largest,
    load_graph,
    load_queries,
    load_tables,
    new_graph_buffers,
    new_query_buffers,
    new_tables,
    piece_of,
)
from grpe_dgl.ops.fused.dropout_mask import fill_keep_mask
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import LANES, add, div, inline, load, maximum, mul, noinline, splat, store, sub
from grpe_dgl.ops.fused.layout import clear, even, scatter
from grpe_dgl.ops.fused.pointers import dtype_of, keep_alive, pointers
from grpe_dgl.ops.fused.products import KEYS, QUERIES, ROWS, dot_rows, mix_rows


class Buffers(NamedTuple):
    """What a thread works on."""

    graph: GraphBuffers
    queries: QueryBuffers
    mass: Array
    """(queries, num_used): the sum of the weights of each query's keys of each relation."""
    sums: Array
    """(queries, width): sum_j weight_ij v_j, relative to the largest score so far."""
    softmax: Array
    """(queries, 2): the largest score so far, and the sum of the weights before dropout."""
    scores: Array
    """(ROWS, KEYS): the scores of a tile, then its weights."""
    keep_mask: Array
    """(ROWS, KEYS): the dropout factors of a tile; ones without dropout."""


class Memory(NamedTuple):
    """What a thread allocates."""

    tables: Tables
    buffers: Buffers


@compiled()
def forward_kernel(runtime, first, last, arguments):  # type: ignore[no-untyped-def]
    """Do shares first..last-1 of a `ForwardCall`, given as plain tuples; see `kernels.openmp.run`."""
    if fork(_forward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled(inner=True)
def _forward_share(thread, arguments):  # type: ignore[no-untyped-def]
    inputs, outputs = pointers(arguments, ForwardCall)
    memory = Memory(new_tables(inputs), _new_buffers(inputs, thread))
    tables, buffers = pointers(memory, Memory)
    plan, shape = inputs.plan, inputs.shape
    load_tables(inputs, tables)
    for index in range(plan.shares[thread], plan.shares[thread + 1]):
        piece = piece_of(plan, index)
        for group in range(shape.groups):
            load_graph(inputs, tables, piece, group, buffers.graph)
            for top in range(piece.first_query, piece.last_query, QUERIES):
                count = min(QUERIES, piece.last_query - top)
                load_queries(inputs, piece, group, buffers.graph, top, count, buffers.mass, buffers.queries)
                _start(count, piece.num_used, shape.width, buffers)
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
                if inputs.terms.value:
                    _add_table_values(count, piece.num_used, shape.width, buffers)
                first_node = piece.first_node + top
                _finish(count, first_node, shape, group, buffers.softmax, buffers.sums, outputs.statistics)
                z = Operand(outputs.z, shape.num_heads * shape.head_size, shape.head_size)
                scatter(buffers.sums, count, shape, group, first_node, 1.0, z)
    keep_alive(memory)


@compiled(inner=True)
def _new_buffers(inputs, thread):  # type: ignore[no-untyped-def]
    nodes, used = largest(inputs.plan, thread)
    shape, dtype = inputs.shape, dtype_of(inputs.q.array)
    return Buffers(
        new_graph_buffers(nodes, used, shape, dtype),
        new_query_buffers(used, shape, dtype),
        np.empty(QUERIES * used * LANES, dtype),
        np.empty(QUERIES * shape.width * LANES, dtype),
        np.empty(QUERIES * 2 * LANES, dtype),
        np.empty(ROWS * KEYS * LANES, dtype),
        np.ones(ROWS * KEYS * LANES, dtype),
    )


@compiled(inner=True)
def _start(count, num_used, width, buffers):  # type: ignore[no-untyped-def]
    """Make the sums of `count` queries, and up to a whole block of them, those of no key."""
    inline()
    rows = count + (-count) % ROWS
    clear(buffers.mass, 0, rows * num_used)
    clear(buffers.sums, 0, rows * width)
    for i in range(rows):
        store(buffers.softmax, 2 * i, splat(-np.inf, buffers.softmax))
        store(buffers.softmax, 2 * i + 1, splat(0, buffers.softmax))


@compiled(inner=True)
def _attend(inputs, tile, node, group, buffers):  # type: ignore[no-untyped-def]
    """Add a tile's keys to the sums of its queries; `node` is the first query's number in the batch."""
    inline()
    width, num_heads = inputs.shape.width, inputs.shape.num_heads
    graph, queries, scores = buffers.graph, buffers.queries, buffers.scores
    at, to = tile.row * width, tile.first_key * width
    dot_rows(queries.vectors, at, graph.keys, to, even(tile.num_keys), width, scores, 0, KEYS)
    if inputs.dropout > 0:
        counter = tile.first_key * num_heads + group * LANES
        fill_keep_mask(inputs.seed, node, counter, num_heads, inputs.dropout, tile.num_keys, buffers.keep_mask)
    _weigh(
        tile,
        width,
        inputs.plan.relation,
        queries.lookup,
        graph.key_lookup,
        buffers.keep_mask,
        scores,
        buffers.mass,
        buffers.sums,
        buffers.softmax,
    )
    mix_rows(scores, 0, KEYS, graph.values, to, tile.num_keys, width, buffers.sums, at)


@compiled(inner=True)
def _weigh(tile, width, relation, query_lookup, key_lookup, keep_mask, scores, mass, sums, softmax):  # type: ignore[no-untyped-def]
    """Turn a tile of q . k into weights, relative to the largest score so far, and add up their sums and mass."""
    noinline()
    n, num_used = tile.num_nodes, tile.num_used
    for a in range(ROWS):
        # A row past the last query takes the relations of the last; nothing reads its result.
        pair = tile.first_pair + min(tile.query + a, n - 1) * n + tile.first_key
        row = tile.row + a
        own = row * num_used
        before = load(softmax, 2 * row)
        m = before
        for j in range(tile.num_keys):
            r = relation[pair + j]
            at, other = a * KEYS + j, (tile.first_key + j) * num_used + r
            s = add(load(scores, at), add(load(query_lookup, own + r), load(key_lookup, other)))
            m = maximum(m, s)
            store(scores, at, s)
        if tile.first_key > 0:
            _rescale(row, exp(sub(before, m)), width, num_used, softmax, sums, mass)
        total = load(softmax, 2 * row + 1)
        for j in range(tile.num_keys):
            r = relation[pair + j]
            at = a * KEYS + j
            w = exp(sub(load(scores, at), m))
            total = add(total, w)
            w = mul(w, load(keep_mask, at))
            store(scores, at, w)
            store(mass, own + r, add(load(mass, own + r), w))
        store(softmax, 2 * row, m)
        store(softmax, 2 * row + 1, total)


@compiled(inner=True)
def _rescale(row, factor, width, num_used, softmax, sums, mass):  # type: ignore[no-untyped-def]
    """Make the sums of a query relative to its new maximum."""
    noinline()
    store(softmax, 2 * row + 1, mul(load(softmax, 2 * row + 1), factor))
    for d in range(row * width, (row + 1) * width):
        store(sums, d, mul(load(sums, d), factor))
    for r in range(row * num_used, (row + 1) * num_used):
        store(mass, r, mul(load(mass, r), factor))


@compiled(inner=True)
def _add_table_values(count, num_used, width, buffers):  # type: ignore[no-untyped-def]
    """Add sum_r mass_ir value_table[r] to the sums."""
    inline()
    for i in range(0, count, ROWS):
        mix_rows(
            buffers.mass, i * num_used, num_used, buffers.graph.value_rows, 0, num_used, width, buffers.sums, i * width
        )


@compiled(inner=True)
def _finish(count, first_node, shape, group, softmax, sums, statistics):  # type: ignore[no-untyped-def]
    """Divide by the softmax's sum, and keep its maximum and one over its sum for the backward pass."""
    noinline()
    one = splat(1, sums)
    for i in range(count):
        share = div(one, load(softmax, 2 * i + 1))
        for d in range(i * shape.width, (i + 1) * shape.width):
            store(sums, d, mul(load(sums, d), share))
        at = 2 * ((first_node + i) * shape.groups + group)
        store(statistics, at, load(softmax, 2 * i))
        store(statistics, at + 1, share)
