"""Copies between torch's layout, (N, H, D), and the kernels': for every node, D vectors of eight heads.

A group is the eight heads that one pass of a kernel works on. Padding is zeros: rows up to a whole block, heads up to a
whole group, and one column where the head size is odd.
"""

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.arguments import Operand
from grpe_dgl.ops.fused.lanes import LANES, fma, load, mul, noinline, splat, store
from grpe_dgl.ops.fused.pointers import advance
from grpe_dgl.ops.fused.transposition import copy_transposed


@compiled(inner=True)
def even(number):  # type: ignore[no-untyped-def]
    """Return the number rounded up to the next multiple of two."""
    return number + number % 2


@compiled(inner=True)
def clear(array, first, end):  # type: ignore[no-untyped-def]
    """Set vectors first..end-1 to zero."""
    zero = splat(0, array)
    for at in range(first, end):
        store(array, at, zero)


@compiled(inner=True)
def gather(source, first, rows, shape, group, factor, rows_out, out):  # type: ignore[no-untyped-def]
    """Copy nodes first..first+rows-1 of an `Operand`'s group, times `factor`, to `rows_out` >= rows rows of `out`."""
    noinline()
    array, head_stride = source.array, source.head_stride
    head_size, width = shape.head_size, shape.width
    lanes = min(LANES, shape.num_heads - group * LANES)
    if lanes < LANES or width > head_size:
        clear(out, 0, rows * width)
    for i in range(rows):
        start = (first + i) * source.node_stride + group * LANES * head_stride
        at = i * width * LANES
        if lanes == LANES and head_size >= LANES:
            for d in range(0, head_size, LANES):
                d = min(d, head_size - LANES)  # the last block may overlap the one before
                copy_transposed(array, start + d, head_stride, out, at + d * LANES, LANES, factor)
        else:
            for lane in range(lanes):
                for d in range(head_size):
                    out[at + d * LANES + lane] = array[start + lane * head_stride + d] * factor
    clear(out, rows * width, rows_out * width)


@compiled(inner=True)
def scatter(rows_in, rows, shape, group, first, factor, out):  # type: ignore[no-untyped-def]
    """Copy `rows` rows of a group, times `factor`, to nodes first, first + 1, ... of the `Operand` `out`."""
    noinline()
    array, head_stride = out.array, out.head_stride
    head_size, width = shape.head_size, shape.width
    lanes = min(LANES, shape.num_heads - group * LANES)
    for i in range(rows):
        start = (first + i) * out.node_stride + group * LANES * head_stride
        at = i * width * LANES
        if lanes == LANES and head_size >= LANES:
            for d in range(0, head_size, LANES):
                d = min(d, head_size - LANES)
                copy_transposed(rows_in, at + d * LANES, LANES, array, start + d, head_stride, factor)
        else:
            for lane in range(lanes):
                for d in range(head_size):
                    array[start + lane * head_stride + d] = rows_in[at + d * LANES + lane] * factor


@compiled(inner=True)
def fill_table(table, shape, out):  # type: ignore[no-untyped-def]
    """Copy a flat (R, H, D) table to (groups, R, width) vectors, one group after the other."""
    source = Operand(table, shape.num_heads * shape.head_size, shape.head_size)
    size = shape.num_relations * shape.width * LANES
    for group in range(shape.groups):
        gather(source, 0, shape.num_relations, shape, group, 1.0, shape.num_relations, advance(out, group * size))


@compiled(inner=True)
def take_rows(table, first_row, used, num_rows, width, factor, out):  # type: ignore[no-untyped-def]
    """Copy the rows `used` of a group, times `factor`, to `num_rows` rows of `out`, which are padded with zeros.

    The first row of the group is `first_row`.
    """
    noinline()
    factors = splat(factor, table)
    for index in range(used.number):
        at, start = index * width, (first_row + used.relations[index]) * width
        for d in range(width):
            store(out, at + d, mul(load(table, start + d), factors))
    clear(out, used.number * width, num_rows * width)


@compiled(inner=True)
def add_to_rows(rows_in, used, width, factor, first_row, table):  # type: ignore[no-untyped-def]
    """Add rows, times `factor`, to the rows of `table` that `take_rows` copies."""
    noinline()
    factors = splat(factor, table)
    for index in range(used.number):
        at, start = index * width, (first_row + used.relations[index]) * width
        for d in range(width):
            store(table, start + d, fma(load(rows_in, at + d), factors, load(table, start + d)))
