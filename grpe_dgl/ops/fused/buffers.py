"""What a thread holds of the graph and the queries it works on, eight heads at a time, in the kernels' layout."""

from typing import NamedTuple

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.arguments import Array, Tables
from grpe_dgl.ops.fused.lanes import LANES, add, inline, load, store
from grpe_dgl.ops.fused.layout import clear, even, fill_table, gather, take_rows
from grpe_dgl.ops.fused.pointers import advance, dtype_of
from grpe_dgl.ops.fused.products import QUERIES, ROWS, dot_rows


class UsedRelations(NamedTuple):
    """The relations that occur in a graph: the rows of the tables it needs."""

    relations: Array
    number: int


class Piece(NamedTuple):
    """Consecutive queries of one graph: what a thread works on before it goes on to the next."""

    first_node: int
    num_nodes: int
    first_pair: int
    first_query: int
    """Counted within the graph, as is `last_query`, one past the last."""
    last_query: int
    partial_row: int
    """See `Plan.pieces`; -1 for a whole graph."""
    used: UsedRelations
    num_used: int
    """How many relations are used, made even."""


class GraphBuffers(NamedTuple):
    """A graph's keys and values, and the rows of the tables it uses; or the gradients of all that."""

    keys: Array
    """(n, width)."""
    values: Array
    """(n, width)."""
    key_lookup: Array
    """(n, num_used): k_j . key_table[r] / sqrt(D); zeros where the term is not looked up by the key."""
    query_rows: Array
    """(num_used, width)."""
    key_rows: Array
    """(num_used, width), divided by sqrt(D)."""
    value_rows: Array
    """(num_used, width)."""


class QueryBuffers(NamedTuple):
    """Up to `QUERIES` queries, divided by sqrt(D), and their lookups; or the gradients of both."""

    vectors: Array
    """(queries, width)."""
    lookup: Array
    """(queries, num_used): q_i . query_table[r] / sqrt(D), and the key term if it is that of the query's own key."""


class Tile(NamedTuple):
    """`ROWS` queries by up to `KEYS` keys of one graph: what is computed at once."""

    first_pair: int
    num_nodes: int
    num_used: int
    query: int
    """The first query, counted within the graph."""
    row: int
    """Its row among the queries that are loaded."""
    first_key: int
    num_keys: int


@compiled(inner=True)
def piece_of(plan, index):  # type: ignore[no-untyped-def]
    """Return piece `index` of the plan."""
    inline()
    graph, first_used = plan.pieces[4 * index], plan.used_offsets[plan.pieces[4 * index]]
    count = plan.used_offsets[graph + 1] - first_used
    return Piece(
        plan.node_offsets[graph],
        plan.node_offsets[graph + 1] - plan.node_offsets[graph],
        plan.pair_offsets[graph],
        plan.pieces[4 * index + 1],
        plan.pieces[4 * index + 2],
        plan.pieces[4 * index + 3],
        UsedRelations(advance(plan.used, first_used), count),
        even(count),
    )


@compiled(inner=True)
def new_tables(inputs):  # type: ignore[no-untyped-def]
    """Return memory for the tables in the kernels' layout, (groups, R, width) vectors each; empty where absent."""
    terms, shape, dtype = inputs.terms, inputs.shape, dtype_of(inputs.q.array)
    size = shape.groups * shape.num_relations * shape.width * LANES
    return Tables(
        np.empty(size if terms.query else 0, dtype),
        np.empty(size if terms.key or terms.own_key else 0, dtype),
        np.empty(size if terms.value else 0, dtype),
    )


@compiled(inner=True)
def load_tables(inputs, tables):  # type: ignore[no-untyped-def]
    """Fill `tables` with the tables in the kernels' layout."""
    inline()
    if inputs.terms.query:
        fill_table(inputs.tables.query, inputs.shape, tables.query)
    if inputs.terms.key or inputs.terms.own_key:
        fill_table(inputs.tables.key, inputs.shape, tables.key)
    if inputs.terms.value:
        fill_table(inputs.tables.value, inputs.shape, tables.value)


@compiled(inner=True)
def largest(plan, thread):  # type: ignore[no-untyped-def]
    """Return the most nodes, padded for a block of rows, and the most relations of the thread's graphs."""
    nodes, used = ROWS, 2
    for index in range(plan.shares[thread], plan.shares[thread + 1]):
        piece = piece_of(plan, index)
        nodes, used = max(nodes, piece.num_nodes), max(used, piece.num_used)
    return nodes + ROWS, used


@compiled(inner=True)
def new_graph_buffers(nodes, used, shape, dtype):  # type: ignore[no-untyped-def]
    """Return buffers for graphs of up to `nodes` nodes and `used` relations."""
    row = shape.width * LANES
    return GraphBuffers(
        np.empty(nodes * row, dtype),
        np.empty(nodes * row, dtype),
        np.empty(nodes * used * LANES, dtype),
        np.empty(used * row, dtype),
        np.empty(used * row, dtype),
        np.empty(used * row, dtype),
    )


@compiled(inner=True)
def new_query_buffers(used, shape, dtype):  # type: ignore[no-untyped-def]
    """Return buffers for `QUERIES` queries of graphs of up to `used` relations."""
    return QueryBuffers(
        np.empty(QUERIES * shape.width * LANES, dtype),
        np.empty(QUERIES * used * LANES, dtype),
    )


@compiled(inner=True)
def load_graph(inputs, tables, piece, group, graph):  # type: ignore[no-untyped-def]
    """Fill `graph` with the piece's graph and a group of heads."""
    inline()
    terms, shape, n = inputs.terms, inputs.shape, piece.num_nodes
    width, num_used, first_row = shape.width, piece.num_used, group * shape.num_relations
    gather(inputs.k, piece.first_node, n, shape, group, 1.0, n + (-n) % ROWS, graph.keys)
    gather(inputs.v, piece.first_node, n, shape, group, 1.0, n + (-n) % ROWS, graph.values)
    if terms.query:
        take_rows(tables.query, first_row, piece.used, num_used, width, 1.0, graph.query_rows)
    if terms.key or terms.own_key:
        take_rows(tables.key, first_row, piece.used, num_used, width, inputs.scale, graph.key_rows)
    if terms.value:
        take_rows(tables.value, first_row, piece.used, num_used, width, 1.0, graph.value_rows)
    if terms.key:
        multiply(graph.keys, 0, n, graph.key_rows, width, graph.key_lookup, num_used)
    else:
        clear(graph.key_lookup, 0, n * num_used)


@compiled(inner=True)
def load_queries(inputs, piece, group, graph, first, count, scratch, queries):  # type: ignore[no-untyped-def]
    """Fill `queries` with queries first..first+count-1 of the graph; `scratch` has the size of their lookups."""
    inline()
    width, num_used = inputs.shape.width, piece.num_used
    rows = count + (-count) % ROWS
    gather(inputs.q, piece.first_node + first, count, inputs.shape, group, inputs.scale, rows, queries.vectors)
    if inputs.terms.query:
        multiply(queries.vectors, 0, count, graph.query_rows, width, queries.lookup, num_used)
    else:
        clear(queries.lookup, 0, rows * num_used)
    if inputs.terms.own_key:
        multiply(graph.keys, first, count, graph.key_rows, width, scratch, num_used)
        for x in range(rows * num_used):
            store(queries.lookup, x, add(load(queries.lookup, x), load(scratch, x)))


@compiled(inner=True)
def multiply(vectors, first, count, table_rows, width, lookup, num_used):  # type: ignore[no-untyped-def]
    """Set lookup[i, r] = vectors[first + i] . table_rows[r] for `count` rows, and up to a whole block of them."""
    inline()
    for i in range(0, count, ROWS):
        dot_rows(vectors, (first + i) * width, table_rows, 0, num_used, width, lookup, i * num_used, num_used)
