"""The gradients of a graph's keys, values and table rows: set to zero, taken through the lookups, and written out."""

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.lanes import inline
from grpe_dgl.ops.fused.layout import add_to_rows, clear, scatter
from grpe_dgl.ops.fused.products import ROWS, mix_rows, spread_rows


@compiled(inner=True)
def clear_graph(piece, width, grad_graph):  # type: ignore[no-untyped-def]
    """Set the gradients of a graph to zero."""
    inline()
    padded = piece.num_nodes + (-piece.num_nodes) % ROWS
    clear(grad_graph.keys, 0, padded * width)
    clear(grad_graph.values, 0, padded * width)
    clear(grad_graph.key_lookup, 0, padded * piece.num_used)
    clear(grad_graph.query_rows, 0, piece.num_used * width)
    clear(grad_graph.key_rows, 0, piece.num_used * width)
    clear(grad_graph.value_rows, 0, piece.num_used * width)


@compiled(inner=True)
def add_lookup_gradients(inputs, num_used, first, count, buffers):  # type: ignore[no-untyped-def]
    """Take the gradients of the lookups of queries first..first+count-1 on to their factors."""
    inline()
    width, graph, grad_graph = inputs.shape.width, buffers.graph, buffers.grad_graph
    lookup, vectors = buffers.grad_queries.lookup, buffers.queries.vectors
    if inputs.terms.query:
        _product_gradients(
            lookup,
            num_used,
            count,
            vectors,
            0,
            graph.query_rows,
            width,
            buffers.grad_queries.vectors,
            grad_graph.query_rows,
        )
    if inputs.terms.own_key:
        _product_gradients(
            lookup, num_used, count, graph.keys, first, graph.key_rows, width, grad_graph.keys, grad_graph.key_rows
        )
    if inputs.terms.value:
        for i in range(0, count, ROWS):
            at, to = i * width, i * num_used
            spread_rows(buffers.mass, to, num_used, buffers.grad_outputs, at, width, grad_graph.value_rows, 0, num_used)


@compiled(inner=True)
def write_graph(inputs, piece, group, thread, graph, grad_graph, gradients):  # type: ignore[no-untyped-def]
    """Write the gradients of the graph's keys and values, and add those of the tables."""
    inline()
    shape, n, num_used = inputs.shape, piece.num_nodes, piece.num_used
    width, first_row = shape.width, (thread * shape.groups + group) * shape.num_relations
    if inputs.terms.key:
        _product_gradients(
            grad_graph.key_lookup,
            num_used,
            n,
            graph.keys,
            0,
            graph.key_rows,
            width,
            grad_graph.keys,
            grad_graph.key_rows,
        )
    if piece.partial_row < 0:
        scatter(grad_graph.keys, n, shape, group, piece.first_node, 1.0, gradients.k)
        scatter(grad_graph.values, n, shape, group, piece.first_node, 1.0, gradients.v)
    else:
        scatter(grad_graph.keys, n, shape, group, piece.partial_row, 1.0, gradients.partial_k)
        scatter(grad_graph.values, n, shape, group, piece.partial_row, 1.0, gradients.partial_v)
    if inputs.terms.query:
        add_to_rows(grad_graph.query_rows, piece.used, width, 1.0, first_row, gradients.query_table)
    if inputs.terms.key or inputs.terms.own_key:
        add_to_rows(grad_graph.key_rows, piece.used, width, inputs.scale, first_row, gradients.key_table)
    if inputs.terms.value:
        add_to_rows(grad_graph.value_rows, piece.used, width, 1.0, first_row, gradients.value_table)


@compiled(inner=True)
def _product_gradients(  # type: ignore[no-untyped-def]
    grad_lookup, num_used, count, vectors, first, table_rows, width, grad_vectors, grad_table_rows
):
    """Add the gradients of both factors of `buffers.multiply`."""
    inline()
    for i in range(0, count, ROWS):
        at, to = (first + i) * width, i * num_used
        mix_rows(grad_lookup, to, num_used, table_rows, 0, num_used, width, grad_vectors, at)
        spread_rows(grad_lookup, to, num_used, vectors, at, width, grad_table_rows, 0, num_used)
