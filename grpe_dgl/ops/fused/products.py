"""The three small matrix products of the kernels, for four query rows and eight heads at a time.

Every number below is a vector of eight heads (`lanes`), every matrix is row-major in flat memory. Four rows by two
columns are summed up in eight registers, so that a value read from memory is used two or four times. Below, A is the
block of four rows and B the other factor; widths and the number of B's rows are even, callers pad them.
"""

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.lanes import fma, load, noinline, splat, store

ROWS = 4  # queries in one block
# Queries and keys worked on together, so that the keys read for one block of rows are still cached for the next.
QUERIES = 64
KEYS = 64


@compiled(inner=True)
def dot_rows(a, first_a, b, first_b, rows_b, width, c, first_c, columns_c):  # type: ignore[no-untyped-def]
    """Set C[row, j] = sum_d A[row, d] B[j, d]: four rows, `rows_b` columns, C's rows `columns_c` apart.

    Row 0 of each matrix begins at vector `first_*` of its array; A and B are `width` wide.
    """
    noinline()
    zero = splat(0, a)
    for j in range(0, rows_b, 2):
        c00 = c01 = c10 = c11 = c20 = c21 = c30 = c31 = zero
        at_a, at_b = first_a, first_b + j * width
        for _ in range(width):
            b0, b1 = load(b, at_b), load(b, at_b + width)
            a0 = load(a, at_a)
            c00, c01 = fma(a0, b0, c00), fma(a0, b1, c01)
            a1 = load(a, at_a + width)
            c10, c11 = fma(a1, b0, c10), fma(a1, b1, c11)
            a2 = load(a, at_a + 2 * width)
            c20, c21 = fma(a2, b0, c20), fma(a2, b1, c21)
            a3 = load(a, at_a + 3 * width)
            c30, c31 = fma(a3, b0, c30), fma(a3, b1, c31)
            at_a += 1
            at_b += 1
        at = first_c + j
        store(c, at, c00)
        store(c, at + 1, c01)
        store(c, at + columns_c, c10)
        store(c, at + columns_c + 1, c11)
        store(c, at + 2 * columns_c, c20)
        store(c, at + 2 * columns_c + 1, c21)
        store(c, at + 3 * columns_c, c30)
        store(c, at + 3 * columns_c + 1, c31)


@compiled(inner=True)
def mix_rows(a, first_a, columns_a, b, first_b, rows_b, width, c, first_c):  # type: ignore[no-untyped-def]
    """Add to C[row, d] the sum_j A[row, j] B[j, d]: four rows; A's rows are `columns_a` apart, B and C `width` wide."""
    noinline()
    for d in range(0, width, 2):
        at = first_c + d
        c00, c01 = load(c, at), load(c, at + 1)
        c10, c11 = load(c, at + width), load(c, at + width + 1)
        c20, c21 = load(c, at + 2 * width), load(c, at + 2 * width + 1)
        c30, c31 = load(c, at + 3 * width), load(c, at + 3 * width + 1)
        at_a, at_b = first_a, first_b + d
        for _ in range(rows_b):
            b0, b1 = load(b, at_b), load(b, at_b + 1)
            a0 = load(a, at_a)
            c00, c01 = fma(a0, b0, c00), fma(a0, b1, c01)
            a1 = load(a, at_a + columns_a)
            c10, c11 = fma(a1, b0, c10), fma(a1, b1, c11)
            a2 = load(a, at_a + 2 * columns_a)
            c20, c21 = fma(a2, b0, c20), fma(a2, b1, c21)
            a3 = load(a, at_a + 3 * columns_a)
            c30, c31 = fma(a3, b0, c30), fma(a3, b1, c31)
            at_a += 1
            at_b += width
        store(c, at, c00)
        store(c, at + 1, c01)
        store(c, at + width, c10)
        store(c, at + width + 1, c11)
        store(c, at + 2 * width, c20)
        store(c, at + 2 * width + 1, c21)
        store(c, at + 3 * width, c30)
        store(c, at + 3 * width + 1, c31)


@compiled(inner=True)
def spread_rows(a, first_a, columns_a, b, first_b, width, c, first_c, rows_c):  # type: ignore[no-untyped-def]
    """Add to C[j, d] the sum over four rows of A[row, j] B[row, d], for `rows_c` rows of C; B and C have `width`."""
    noinline()
    for j in range(0, rows_c, 2):
        at_a = first_a + j
        a00, a01 = load(a, at_a), load(a, at_a + 1)
        a10, a11 = load(a, at_a + columns_a), load(a, at_a + columns_a + 1)
        a20, a21 = load(a, at_a + 2 * columns_a), load(a, at_a + 2 * columns_a + 1)
        a30, a31 = load(a, at_a + 3 * columns_a), load(a, at_a + 3 * columns_a + 1)
        at_b, at = first_b, first_c + j * width
        for _ in range(width):
            b0 = load(b, at_b)
            c0, c1 = fma(a00, b0, load(c, at)), fma(a01, b0, load(c, at + width))
            b1 = load(b, at_b + width)
            c0, c1 = fma(a10, b1, c0), fma(a11, b1, c1)
            b2 = load(b, at_b + 2 * width)
            c0, c1 = fma(a20, b2, c0), fma(a21, b2, c1)
            b3 = load(b, at_b + 3 * width)
            c0, c1 = fma(a30, b3, c0), fma(a31, b3, c1)
            store(c, at, c0)
            store(c, at + width, c1)
            at_b += 1
            at += 1
