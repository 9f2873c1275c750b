"""Dropout masks that are computed from (seed, query, key, head) each time they are needed, and never stored."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.lanes import LANES, constant, noinline, splat, spread, store
from grpe_dgl.ops.fused.products import KEYS, ROWS

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31, ONE = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(1)


@compiled(inner=True)
def row_key(seed, query):  # type: ignore[no-untyped-def]
    """Return the 64 random bits of one query row: SplitMix64's number `query` (counted from 0) after `seed`."""
    x = np.uint64(seed) + (np.uint64(query) + ONE) * GOLDEN
    x = (x ^ (x >> SHIFT_30)) * MIX_1
    x = (x ^ (x >> SHIFT_27)) * MIX_2
    return x ^ (x >> SHIFT_31)


@compiled(inner=True)
def fill_keep_mask(seed, query, first_counter, step, dropout, columns, out):  # type: ignore[no-untyped-def]
    """Fill four rows of `columns` vectors with the factors of the weights of queries query..query+3.

    A factor is 0 or 1 / (1 - dropout). The counters of a row's keys are `step` apart. Rows of `out` are `KEYS` apart.
    """
    noinline()
    threshold, scale = np.int64(dropout * 4294967296.0), splat(1.0 / (1.0 - dropout), out)
    for row in range(ROWS):
        key = row_key(seed, query + row)
        for j in range(columns):
            store(out, row * KEYS + j, keep_factors(key, first_counter + j * step, threshold, scale))


@intrinsic
def keep_factors(typing: Any, key: Any, counter: Any, threshold: Any, scale: Any) -> Any:
    """Return the vector `scale`, with 0 in the lanes that are dropped; the first lane's number is `counter`.

    A lane's number is hashed twice, keyed by the two halves of the row's key; the lane is dropped if the resulting 32
    bits are below `threshold` = dropout * 2^32. The hash is Wellons's ``lowbias32``, computed on vectors.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        key, counter, threshold, scale = arguments
        integers = ir.VectorType(ir.IntType(32), LANES)

        def word(value: ir.Value) -> ir.Value:
            return spread(builder, builder.trunc(value, ir.IntType(32)))

        def xor_shift(x: ir.Value, bits: int) -> ir.Value:
            return builder.xor(x, builder.lshr(x, constant(integers, bits)))

        def mixed(x: ir.Value) -> ir.Value:
            x = builder.mul(xor_shift(x, 16), constant(integers, 0x7FEB352D))
            x = builder.mul(xor_shift(x, 15), constant(integers, 0x846CA68B))
            return xor_shift(x, 16)

        lane = ir.Constant(integers, [ir.Constant(ir.IntType(32), index) for index in range(LANES)])
        x = builder.add(word(counter), lane)
        x = mixed(builder.add(x, word(key)))
        x = mixed(builder.xor(x, word(builder.lshr(key, ir.Constant(key.type, 32)))))
        dropped = builder.icmp_unsigned("<", x, word(threshold))
        return builder.select(dropped, constant(scale.type, 0.0), scale)

    return scale(types.uint64, types.int64, types.int64, scale), codegen
