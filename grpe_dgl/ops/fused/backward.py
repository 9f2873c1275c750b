"""The backward kernel: the weights are computed again from the scores, block by block, and never stored."""

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.dropout_mask import keep_rows
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import LANES, add, fma, load, mul, noinline, number_at, splat, store, sub
from grpe_dgl.ops.fused.layout import add_to_rows, clear, even, gather, scatter, table_in_lanes, take_rows
from grpe_dgl.ops.fused.products import KEYS, QUERIES, ROWS, dot_rows, mix_rows, spread_rows


@compiled()
def backward_kernel(runtime, first, last, plan, sizes, inputs, tables, scale, dropout, seed, kept, grads, grad_tables):  # type: ignore[no-untyped-def]
    """Do shares first..last-1; see `kernels.openmp.run`, and `ops.fused.operation` for the arguments."""
    arguments = (plan, sizes, inputs, tables, scale, dropout, seed, kept, grads, grad_tables)
    if fork(_backward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled(inner=True)
def _backward_share(thread, arguments):  # type: ignore[no-untyped-def]
    plan, sizes, inputs, tables, scale, dropout, seed, kept, grads, grad_tables = arguments
    shares, pieces, nodes, pairs, relation, used_offsets, used_all = plan
    q, k, v = inputs
    z, statistics, grad_z = kept
    grad_q, grad_k, grad_v, partial_k, partial_v = grads
    num_heads, head_size, num_relations, key_self = sizes[0], sizes[1], sizes[2], sizes[3] != 0
    shape = (num_heads, head_size)
    strides = ((sizes[4], sizes[5]), (sizes[6], sizes[7]), (sizes[8], sizes[9]), (num_heads * head_size, head_size))
    width, groups = even(head_size), (num_heads + LANES - 1) // LANES
    dtype = q.dtype
    one = dtype.type(1)
    query_table = table_in_lanes(tables[0], num_relations, shape)
    key_table = table_in_lanes(tables[1], num_relations, shape)
    value_table = table_in_lanes(tables[2], num_relations, shape)
    neighbour = len(key_table) > 0 and not key_self

    most, most_used = ROWS, 2
    for p in range(shares[thread], shares[thread + 1]):
        graph = pieces[p, 0]
        most = max(most, nodes[graph + 1] - nodes[graph])
        most_used = max(most_used, even(used_offsets[graph + 1] - used_offsets[graph]))
    most += ROWS

    row = width * LANES
    lookup_row = most_used * LANES
    keys = np.empty(most * row, dtype)
    values = np.empty(most * row, dtype)
    grad_keys = np.empty(most * row, dtype)
    grad_values = np.empty(most * row, dtype)
    key_lookup = np.zeros(most * lookup_row, dtype)
    grad_key_lookup = np.zeros(most * lookup_row, dtype)
    query_rows = np.empty(most_used * row, dtype)
    key_rows = np.empty(most_used * row, dtype)
    value_rows = np.empty(most_used * row, dtype)
    grad_query_rows = np.empty(most_used * row, dtype)
    grad_key_rows = np.empty(most_used * row, dtype)
    grad_value_rows = np.empty(most_used * row, dtype)
    queries = np.empty(QUERIES * row, dtype)
    grad_queries = np.empty(QUERIES * row, dtype)
    grad_outputs = np.empty(QUERIES * row, dtype)
    outputs = np.empty(QUERIES * row, dtype)
    query_lookup = np.zeros(QUERIES * lookup_row, dtype)
    grad_query_lookup = np.zeros(QUERIES * lookup_row, dtype)
    value_lookup = np.zeros(QUERIES * lookup_row, dtype)
    mass = np.empty(QUERIES * lookup_row, dtype)
    softmax = np.empty(3 * QUERIES * LANES, dtype)  # of every query: maximum, one over the sum, grad_z . z
    scores = np.empty(ROWS * KEYS * LANES, dtype)
    weights = np.empty(ROWS * KEYS * LANES, dtype)
    stays = np.ones(ROWS * KEYS * LANES, dtype)

    for p in range(shares[thread], shares[thread + 1]):
        graph, first_query, last_query, partial = pieces[p, 0], pieces[p, 1], pieces[p, 2], pieces[p, 3]
        first, n = nodes[graph], nodes[graph + 1] - nodes[graph]
        used = used_all[used_offsets[graph] : used_offsets[graph + 1]]
        num_used = even(len(used))
        padded = n + (-n) % ROWS
        for group in range(groups):
            first_row = group * num_relations
            gather(k, strides[1], first, n, shape, group, one, padded, keys)
            gather(v, strides[2], first, n, shape, group, one, padded, values)
            clear(grad_keys, 0, padded * width)
            clear(grad_values, 0, padded * width)
            clear(grad_query_rows, 0, num_used * width)
            clear(grad_key_rows, 0, num_used * width)
            clear(grad_value_rows, 0, num_used * width)
            if len(query_table):
                take_rows(query_table, first_row, used, width, query_rows)
            if len(value_table):
                take_rows(value_table, first_row, used, width, value_rows)
            if len(key_table):
                take_rows(key_table, first_row, used, width, key_rows)
                for x in range(num_used * row):
                    key_rows[x] *= scale
            if neighbour:
                clear(grad_key_lookup, 0, padded * num_used)
                for i in range(0, n, ROWS):
                    dot_rows(keys, i * width, key_rows, 0, num_used, width, key_lookup, i * num_used, num_used)
            else:
                clear(key_lookup, 0, n * num_used)

            for top in range(first_query, last_query, QUERIES):
                count = min(QUERIES, last_query - top)
                rows = count + (-count) % ROWS
                gather(q, strides[0], first + top, count, shape, group, scale, rows, queries)
                gather(grad_z, strides[3], first + top, count, shape, group, one, rows, grad_outputs)
                gather(z, strides[3], first + top, count, shape, group, one, rows, outputs)
                _prepare(count, rows, width, first + top, groups, group, statistics, outputs, grad_outputs, softmax)
                clear(grad_queries, 0, rows * width)
                clear(mass, 0, rows * num_used)
                clear(grad_query_lookup, 0, rows * num_used)
                clear(query_lookup, 0, rows * num_used)
                for i in range(0, count, ROWS):
                    at, to = i * width, i * num_used
                    if len(query_table):
                        dot_rows(queries, at, query_rows, 0, num_used, width, query_lookup, to, num_used)
                    if len(value_table):
                        dot_rows(grad_outputs, at, value_rows, 0, num_used, width, value_lookup, to, num_used)
                if key_self and len(key_table):
                    # mass is not in use yet: it holds k_i . key_table[r] until that is added.
                    for i in range(0, count, ROWS):
                        dot_rows(keys, (top + i) * width, key_rows, 0, num_used, width, mass, i * num_used, num_used)
                    for x in range(rows * num_used * LANES):
                        query_lookup[x] += mass[x]
                        mass[x] = 0

                for left in range(0, n, KEYS):
                    tile = min(KEYS, n - left)
                    for i in range(0, count, ROWS):
                        dot_rows(queries, i * width, keys, left * width, even(tile), width, scores, 0, KEYS)
                        dot_rows(grad_outputs, i * width, values, left * width, even(tile), width, weights, 0, KEYS)
                        if dropout > 0:
                            counter = left * num_heads + group * LANES
                            keep_rows(seed, first + top + i, counter, num_heads, dropout, tile, stays)
                        _weigh(
                            (n, top + i, left, tile, i, num_used),
                            pairs[graph],
                            relation,
                            (query_lookup, key_lookup, value_lookup),
                            neighbour,
                            stays,
                            softmax,
                            (scores, weights),
                            (mass, grad_query_lookup, grad_key_lookup),
                        )
                        mix_rows(scores, 0, KEYS, keys, left * width, tile, width, grad_queries, i * width)
                        spread_rows(scores, 0, KEYS, queries, i * width, width, grad_keys, left * width, even(tile))
                        spread_rows(
                            weights, 0, KEYS, grad_outputs, i * width, width, grad_values, left * width, even(tile)
                        )

                for i in range(0, count, ROWS):
                    at, to = i * width, i * num_used
                    if len(query_table):
                        mix_rows(grad_query_lookup, to, num_used, query_rows, 0, num_used, width, grad_queries, at)
                        spread_rows(grad_query_lookup, to, num_used, queries, at, width, grad_query_rows, 0, num_used)
                    if len(value_table):
                        spread_rows(mass, to, num_used, grad_outputs, at, width, grad_value_rows, 0, num_used)
                    if key_self and len(key_table):
                        at = (top + i) * width
                        mix_rows(grad_query_lookup, to, num_used, key_rows, 0, num_used, width, grad_keys, at)
                        spread_rows(grad_query_lookup, to, num_used, keys, at, width, grad_key_rows, 0, num_used)
                scatter(grad_queries, count, shape, group, first + top, scale, grad_q)

            if neighbour:
                for i in range(0, n, ROWS):
                    at, to = i * width, i * num_used
                    mix_rows(grad_key_lookup, to, num_used, key_rows, 0, num_used, width, grad_keys, at)
                    spread_rows(grad_key_lookup, to, num_used, keys, at, width, grad_key_rows, 0, num_used)
            if partial < 0:
                scatter(grad_keys, n, shape, group, first, one, grad_k)
                scatter(grad_values, n, shape, group, first, one, grad_v)
            else:
                scatter(grad_keys, n, shape, group, partial, one, partial_k)
                scatter(grad_values, n, shape, group, partial, one, partial_v)
            if len(query_table):
                add_to_rows(grad_query_rows, used, width, first_row, grad_tables[0][thread])
            if len(key_table):
                for x in range(num_used * row):
                    grad_key_rows[x] *= scale
                add_to_rows(grad_key_rows, used, width, first_row, grad_tables[1][thread])
            if len(value_table):
                add_to_rows(grad_value_rows, used, width, first_row, grad_tables[2][thread])


@compiled(inner=True)
def _prepare(count, rows, width, first, groups, group, statistics, outputs, grad_outputs, softmax):  # type: ignore[no-untyped-def]
    """Set each query's maximum, one over the sum, and grad_z . z; a row past the last query gets weights of 0."""
    noinline()
    zero = splat(outputs.dtype.type(0))
    for i in range(rows):
        store(softmax, 3 * i, splat(outputs.dtype.type(1e30)))
        store(softmax, 3 * i + 1, zero)
        store(softmax, 3 * i + 2, zero)
    for i in range(count):
        at = 2 * ((first + i) * groups + group)
        store(softmax, 3 * i, load(statistics, at))
        store(softmax, 3 * i + 1, load(statistics, at + 1))
        total = zero
        for d in range(i * width, (i + 1) * width):
            total = fma(load(outputs, d), load(grad_outputs, d), total)
        store(softmax, 3 * i + 2, total)


@compiled(inner=True)
def _weigh(where, first_pair, relation, lookups, neighbour, stays, softmax, blocks, sums):  # type: ignore[no-untyped-def]
    """Turn four rows of q . k and grad_z . v into the gradients of scores, and the weights after dropout."""
    noinline()
    n, query, left, tile, i, num_used = where
    query_lookup, key_lookup, value_lookup = lookups
    mass, grad_query_lookup, grad_key_lookup = sums
    scores, weights = blocks
    dtype = scores.dtype
    for a in range(ROWS):
        pair = first_pair + min(query + a, n - 1) * n + left
        own = (i + a) * num_used
        m, share = load(softmax, 3 * (i + a)), load(softmax, 3 * (i + a) + 1)
        total = load(softmax, 3 * (i + a) + 2)
        for j in range(tile):
            r = number_at(relation, pair + j)
            at = a * KEYS + j
            other = (left + j) * num_used + r
            s = add(load(scores, at), add(load(query_lookup, own + r), load(key_lookup, other)))
            p = mul(exp(sub(s, m)), share)
            grad = add(load(weights, at), load(value_lookup, own + r))
            stay = load(stays, at)
            w = mul(p, stay)
            grad = mul(p, sub(mul(grad, stay), total))
            store(weights, at, w)
            store(scores, at, grad)
            store(mass, own + r, add(load(mass, own + r), w))
            store(grad_query_lookup, own + r, add(load(grad_query_lookup, own + r), grad))
            if neighbour:
                store(grad_key_lookup, other, add(load(grad_key_lookup, other), grad))
        if tile % 2:
            store(scores, a * KEYS + tile, splat(dtype.type(0)))
            store(weights, a * KEYS + tile, splat(dtype.type(0)))
