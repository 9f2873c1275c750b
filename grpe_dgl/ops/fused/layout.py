"""Between torch's (N, H, D) and the kernels' layout: per node, D vectors of eight heads.

A group is the eight heads one kernel pass works on. Rows a product needs but a graph does not have, heads past the last
and an odd head size's extra column are zeros.
"""

import numpy as np

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.lanes import LANES, add, load, noinline, splat, store
from grpe_dgl.ops.fused.transposition import copy_transposed


@compiled(inner=True)
def even(number):  # type: ignore[no-untyped-def]
    """Return the number rounded up to the next multiple of two."""
    return number + number % 2


@compiled(inner=True)
def clear(array, first, end):  # type: ignore[no-untyped-def]
    """Set vectors first..end-1 to zero."""
    zero = splat(array.dtype.type(0))
    for at in range(first, end):
        store(array, at, zero)


@compiled(inner=True)
def gather(source, strides, first, rows, shape, group, factor, rows_out, out):  # type: ignore[no-untyped-def]
    """Copy nodes first..first+rows-1 of a group, times `factor`, to `rows_out` >= rows rows of `out`.

    `source` is flat, node i and head h starting at i * strides[0] + h * strides[1]; `shape` is (H, D).
    """
    noinline()
    num_heads, head_size = shape
    width = even(head_size)
    lanes = min(LANES, num_heads - group * LANES)
    if lanes < LANES or width > head_size:
        clear(out, 0, rows * width)
    for i in range(rows):
        start = (first + i) * strides[0] + group * LANES * strides[1]
        at = i * width * LANES
        if lanes == LANES and head_size >= LANES:
            for d in range(0, head_size, LANES):
                d = min(d, head_size - LANES)  # the last block may overlap the one before
                copy_transposed(source, start + d, strides[1], out, at + d * LANES, LANES, factor)
        else:
            for lane in range(lanes):
                for d in range(head_size):
                    out[at + d * LANES + lane] = source[start + lane * strides[1] + d] * factor
    clear(out, rows * width, rows_out * width)


@compiled(inner=True)
def scatter(rows_in, rows, shape, group, first, factor, out):  # type: ignore[no-untyped-def]
    """Copy `rows` rows of a group, times `factor`, to nodes first, first + 1, ... of the flat, contiguous `out`."""
    noinline()
    num_heads, head_size = shape
    width = even(head_size)
    lanes = min(LANES, num_heads - group * LANES)
    for i in range(rows):
        start = ((first + i) * num_heads + group * LANES) * head_size
        at = i * width * LANES
        if lanes == LANES and head_size >= LANES:
            for d in range(0, head_size, LANES):
                d = min(d, head_size - LANES)
                copy_transposed(rows_in, at + d * LANES, LANES, out, start + d, head_size, factor)
        else:
            for lane in range(lanes):
                for d in range(head_size):
                    out[start + lane * head_size + d] = rows_in[at + d * LANES + lane] * factor


@compiled(inner=True)
def table_in_lanes(table, num_relations, shape):  # type: ignore[no-untyped-def]
    """Return a flat (R, H, D) table as (groups, R, width) vectors, one group after the other; empty if it is."""
    noinline()
    num_heads, head_size = shape
    size = num_relations * even(head_size) * LANES
    groups = (num_heads + LANES - 1) // LANES
    out = np.empty(groups * size if len(table) else 0, table.dtype)
    if len(table):
        strides = (num_heads * head_size, head_size)
        for group in range(groups):
            part = out[group * size : (group + 1) * size]
            gather(table, strides, 0, num_relations, shape, group, table.dtype.type(1), num_relations, part)
    return out


@compiled(inner=True)
def take_rows(table, first_row, used, width, out):  # type: ignore[no-untyped-def]
    """Copy the rows `used` of a group, whose first is `first_row`, to `out`; a zero row makes an odd count even."""
    noinline()
    for index in range(len(used)):
        at, start = index * width, (first_row + used[index]) * width
        for d in range(width):
            store(out, at + d, load(table, start + d))
    clear(out, len(used) * width, even(len(used)) * width)


@compiled(inner=True)
def add_to_rows(rows_in, used, width, first_row, table):  # type: ignore[no-untyped-def]
    """Add what `take_rows` would have taken back to where it came from."""
    noinline()
    for index in range(len(used)):
        at, start = index * width, (first_row + used[index]) * width
        for d in range(width):
            store(table, start + d, add(load(table, start + d), load(rows_in, at + d)))
