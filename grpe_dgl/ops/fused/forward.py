"""The forward kernel: z and, per node and head, the softmax's maximum and sum. Nothing per pair is written out."""

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.kernels.openmp import fork
from grpe_dgl.ops.fused.dropout_mask import keep_rows
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import LANES, add, div, load, maximum, mul, noinline, number_at, splat, store, sub
from grpe_dgl.ops.fused.layout import clear, even, gather, scatter, table_in_lanes, take_rows
from grpe_dgl.ops.fused.products import KEYS, QUERIES, ROWS, dot_rows, mix_rows


@compiled()
def forward_kernel(runtime, first, last, plan, sizes, inputs, tables, scale, dropout, seed, z, statistics):  # type: ignore[no-untyped-def]
    """Do shares first..last-1; see `kernels.openmp.run`, and `ops.fused.operation` for the arguments."""
    arguments = (plan, sizes, inputs, tables, scale, dropout, seed, z, statistics)
    if fork(_forward_share, runtime, first, last, arguments) > 0:
        raise MemoryError("no memory for the attention kernel")


@compiled(inner=True)
def _forward_share(thread, arguments):  # type: ignore[no-untyped-def]
    plan, sizes, inputs, tables, scale, dropout, seed, z, statistics = arguments
    shares, pieces, nodes, pairs, relation, used_offsets, used_all = plan
    q, k, v = inputs
    num_heads, head_size, num_relations, key_self = sizes[0], sizes[1], sizes[2], sizes[3] != 0
    shape = (num_heads, head_size)
    strides = ((sizes[4], sizes[5]), (sizes[6], sizes[7]), (sizes[8], sizes[9]))
    width, groups = even(head_size), (num_heads + LANES - 1) // LANES
    dtype = q.dtype
    query_table = table_in_lanes(tables[0], num_relations, shape)
    key_table = table_in_lanes(tables[1], num_relations, shape)
    value_table = table_in_lanes(tables[2], num_relations, shape)

    most, most_used = ROWS, 2
    for p in range(shares[thread], shares[thread + 1]):
        graph = pieces[p, 0]
        most = max(most, nodes[graph + 1] - nodes[graph])
        most_used = max(most_used, even(used_offsets[graph + 1] - used_offsets[graph]))
    most += ROWS

    row = width * LANES
    keys = np.empty(most * row, dtype)
    values = np.empty(most * row, dtype)
    key_lookup = np.zeros(most * most_used * LANES, dtype)  # k_j . key_table[r] / sqrt(D)
    query_rows = np.empty(most_used * row, dtype)
    key_rows = np.empty(most_used * row, dtype)
    value_rows = np.empty(most_used * row, dtype)
    queries = np.empty(QUERIES * row, dtype)
    query_lookup = np.zeros(QUERIES * most_used * LANES, dtype)  # q_i . query_table[r] / sqrt(D)
    mass = np.empty(QUERIES * most_used * LANES, dtype)
    sums = np.empty(QUERIES * row, dtype)
    softmax = np.empty(2 * QUERIES * LANES, dtype)  # maximum and sum of every query
    scores = np.empty(ROWS * KEYS * LANES, dtype)
    stays = np.ones(ROWS * KEYS * LANES, dtype)

    for p in range(shares[thread], shares[thread + 1]):
        graph, first_query, last_query = pieces[p, 0], pieces[p, 1], pieces[p, 2]
        first, n = nodes[graph], nodes[graph + 1] - nodes[graph]
        used = used_all[used_offsets[graph] : used_offsets[graph + 1]]
        num_used = even(len(used))
        for group in range(groups):
            padded = n + (-n) % ROWS
            gather(k, strides[1], first, n, shape, group, dtype.type(1), padded, keys)
            gather(v, strides[2], first, n, shape, group, dtype.type(1), padded, values)
            if len(query_table):
                take_rows(query_table, group * num_relations, used, width, query_rows)
            if len(value_table):
                take_rows(value_table, group * num_relations, used, width, value_rows)
            if len(key_table):
                take_rows(key_table, group * num_relations, used, width, key_rows)
                for x in range(num_used * row):
                    key_rows[x] *= scale
                if not key_self:
                    for i in range(0, n, ROWS):
                        dot_rows(keys, i * width, key_rows, 0, num_used, width, key_lookup, i * num_used, num_used)
            if key_self or not len(key_table):
                clear(key_lookup, 0, n * num_used)

            for top in range(first_query, last_query, QUERIES):
                count = min(QUERIES, last_query - top)
                rows = count + (-count) % ROWS
                gather(q, strides[0], first + top, count, shape, group, scale, rows, queries)
                clear(query_lookup, 0, rows * num_used)
                if len(query_table):
                    for i in range(0, count, ROWS):
                        dot_rows(
                            queries, i * width, query_rows, 0, num_used, width, query_lookup, i * num_used, num_used
                        )
                if key_self and len(key_table):
                    # mass is not in use yet: it holds k_i . key_table[r] until that is added.
                    for i in range(0, count, ROWS):
                        dot_rows(keys, (top + i) * width, key_rows, 0, num_used, width, mass, i * num_used, num_used)
                    for x in range(count * num_used * LANES):
                        query_lookup[x] += mass[x]
                clear(mass, 0, rows * num_used)
                clear(sums, 0, rows * width)
                for i in range(rows):
                    store(softmax, 2 * i, splat(dtype.type(-np.inf)))
                    store(softmax, 2 * i + 1, splat(dtype.type(0)))
                for left in range(0, n, KEYS):
                    tile = min(KEYS, n - left)
                    for i in range(0, count, ROWS):
                        dot_rows(queries, i * width, keys, left * width, even(tile), width, scores, 0, KEYS)
                        if dropout > 0:
                            counter = left * num_heads + group * LANES
                            keep_rows(seed, first + top + i, counter, num_heads, dropout, tile, stays)
                        _weigh(
                            (n, top + i, left, tile, i, num_used, width),
                            pairs[graph],
                            relation,
                            query_lookup,
                            key_lookup,
                            stays,
                            scores,
                            mass,
                            sums,
                            softmax,
                        )
                        mix_rows(scores, 0, KEYS, values, left * width, tile, width, sums, i * width)
                if len(value_table):
                    for i in range(0, count, ROWS):
                        mix_rows(mass, i * num_used, num_used, value_rows, 0, num_used, width, sums, i * width)
                _finish(count, width, first + top, groups, group, softmax, sums, statistics)
                scatter(sums, count, shape, group, first + top, dtype.type(1), z)


@compiled(inner=True)
def _weigh(where, first_pair, relation, query_lookup, key_lookup, stays, scores, mass, sums, softmax):  # type: ignore[no-untyped-def]
    """Turn four rows of q . k into weights, relative to the largest score so far, and add up their sums and mass."""
    noinline()
    n, query, left, tile, i, num_used, width = where
    # A row past the last query repeats it, for the sake of its relations; nothing reads the result.
    r0 = first_pair + query * n + left
    r1 = first_pair + min(query + 1, n - 1) * n + left
    r2 = first_pair + min(query + 2, n - 1) * n + left
    r3 = first_pair + min(query + 3, n - 1) * n + left
    l0, l1, l2, l3 = i * num_used, (i + 1) * num_used, (i + 2) * num_used, (i + 3) * num_used

    old0, old1 = load(softmax, 2 * i), load(softmax, 2 * i + 2)
    old2, old3 = load(softmax, 2 * i + 4), load(softmax, 2 * i + 6)
    m0, m1, m2, m3 = old0, old1, old2, old3
    for j in range(tile):
        key = (left + j) * num_used
        a0, a1, a2, a3 = (
            number_at(relation, r0 + j),
            number_at(relation, r1 + j),
            number_at(relation, r2 + j),
            number_at(relation, r3 + j),
        )
        s0 = add(load(scores, j), add(load(query_lookup, l0 + a0), load(key_lookup, key + a0)))
        s1 = add(load(scores, KEYS + j), add(load(query_lookup, l1 + a1), load(key_lookup, key + a1)))
        s2 = add(load(scores, 2 * KEYS + j), add(load(query_lookup, l2 + a2), load(key_lookup, key + a2)))
        s3 = add(load(scores, 3 * KEYS + j), add(load(query_lookup, l3 + a3), load(key_lookup, key + a3)))
        m0, m1, m2, m3 = maximum(m0, s0), maximum(m1, s1), maximum(m2, s2), maximum(m3, s3)
        store(scores, j, s0)
        store(scores, KEYS + j, s1)
        store(scores, 2 * KEYS + j, s2)
        store(scores, 3 * KEYS + j, s3)

    if left > 0:
        _rescale(i, exp(sub(old0, m0)), width, num_used, softmax, sums, mass)
        _rescale(i + 1, exp(sub(old1, m1)), width, num_used, softmax, sums, mass)
        _rescale(i + 2, exp(sub(old2, m2)), width, num_used, softmax, sums, mass)
        _rescale(i + 3, exp(sub(old3, m3)), width, num_used, softmax, sums, mass)

    t0, t1 = load(softmax, 2 * i + 1), load(softmax, 2 * i + 3)
    t2, t3 = load(softmax, 2 * i + 5), load(softmax, 2 * i + 7)
    for j in range(tile):
        a0, a1, a2, a3 = (
            number_at(relation, r0 + j),
            number_at(relation, r1 + j),
            number_at(relation, r2 + j),
            number_at(relation, r3 + j),
        )
        w0 = exp(sub(load(scores, j), m0))
        w1 = exp(sub(load(scores, KEYS + j), m1))
        w2 = exp(sub(load(scores, 2 * KEYS + j), m2))
        w3 = exp(sub(load(scores, 3 * KEYS + j), m3))
        t0, t1, t2, t3 = add(t0, w0), add(t1, w1), add(t2, w2), add(t3, w3)
        w0, w1 = mul(w0, load(stays, j)), mul(w1, load(stays, KEYS + j))
        w2, w3 = mul(w2, load(stays, 2 * KEYS + j)), mul(w3, load(stays, 3 * KEYS + j))
        store(mass, l0 + a0, add(load(mass, l0 + a0), w0))
        store(mass, l1 + a1, add(load(mass, l1 + a1), w1))
        store(mass, l2 + a2, add(load(mass, l2 + a2), w2))
        store(mass, l3 + a3, add(load(mass, l3 + a3), w3))
        store(scores, j, w0)
        store(scores, KEYS + j, w1)
        store(scores, 2 * KEYS + j, w2)
        store(scores, 3 * KEYS + j, w3)
    store(softmax, 2 * i, m0)
    store(softmax, 2 * i + 1, t0)
    store(softmax, 2 * i + 2, m1)
    store(softmax, 2 * i + 3, t1)
    store(softmax, 2 * i + 4, m2)
    store(softmax, 2 * i + 5, t2)
    store(softmax, 2 * i + 6, m3)
    store(softmax, 2 * i + 7, t3)


@compiled(inner=True)
def _rescale(i, factor, width, num_used, softmax, sums, mass):  # type: ignore[no-untyped-def]
    """Make what query i has summed up relative to its new maximum."""
    noinline()
    store(softmax, 2 * i + 1, mul(load(softmax, 2 * i + 1), factor))
    for d in range(i * width, (i + 1) * width):
        store(sums, d, mul(load(sums, d), factor))
    for r in range(i * num_used, (i + 1) * num_used):
        store(mass, r, mul(load(mass, r), factor))


@compiled(inner=True)
def _finish(count, width, first, groups, group, softmax, sums, statistics):  # type: ignore[no-untyped-def]
    """Divide by the softmax's sum, and keep its maximum and one over its sum for the backward pass."""
    noinline()
    one = splat(sums.dtype.type(1))
    for i in range(count):
        share = div(one, load(softmax, 2 * i + 1))
        for d in range(i * width, (i + 1) * width):
            store(sums, d, mul(load(sums, d), share))
        at = 2 * ((first + i) * groups + group)
        store(statistics, at, load(softmax, 2 * i))
        store(statistics, at + 1, share)
