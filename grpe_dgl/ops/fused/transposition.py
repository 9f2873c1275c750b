"""Transpose blocks of eight heads by eight columns in registers."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from grpe_dgl.ops.fused.lanes import LANES, data_of, spread


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Return the columns of an 8 x 8 block, by exchanging ever larger sub-blocks across its diagonal."""
    indices = ir.VectorType(ir.IntType(32), LANES)
    for step in (1, 2, 4):
        upper = ir.Constant(indices, [lane ^ step | LANES if lane & step else lane for lane in range(LANES)])
        lower = ir.Constant(indices, [lane | LANES if lane & step else lane ^ step for lane in range(LANES)])
        for i in range(LANES):
            if not i & step:
                a, b = rows[i], rows[i | step]
                rows[i] = builder.shuffle_vector(a, b, upper)
                rows[i | step] = builder.shuffle_vector(a, b, lower)
    return rows


@intrinsic
def copy_transposed(typing: Any, source: Any, at: Any, step: Any, out: Any, to: Any, out_step: Any, factor: Any) -> Any:
    """Set out[to + d * out_step + h] = source[at + h * step + d] * factor for h and d in 0..7."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source_value, at_value, step_value, out_value, to_value, out_step_value, factor_value = arguments
        factors = spread(builder, factor_value)
        align = source.dtype.bitwidth // 8

        def address(array: Any, value: ir.Value, first: ir.Value, stride: ir.Value, row: int) -> ir.Value:
            data = data_of(context, builder, array, value)
            element = builder.add(first, builder.mul(stride, ir.Constant(stride.type, row)))
            return builder.bitcast(builder.gep(data, [element]), factors.type.as_pointer())

        rows = [
            builder.load(address(source, source_value, at_value, step_value, row), align=align) for row in range(LANES)
        ]
        for row, column in enumerate(_transposed(builder, rows)):
            to_row = address(out, out_value, to_value, out_step_value, row)
            builder.store(builder.fmul(column, factors), to_row, align=align)
        return context.get_dummy_value()

    return types.void(source, types.int64, types.int64, out, types.int64, types.int64, source.dtype), codegen
