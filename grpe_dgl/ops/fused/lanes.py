"""Eight heads side by side: a vector type for numba kernels, so that a kernel reads as if it had one head.

A value of this type holds one number for each of `LANES` heads and is kept in vector registers (one AVX register of
float32, two of float64). The functions below are its only operations. Memory is a plain one-dimensional array, or a
pointer to its first element (`ops.fused.pointers`), indexed in whole vectors: vector i of `array` is
array[i * LANES : (i + 1) * LANES].

These are LLVM vectors because the compiler does not vectorise a loop over eight heads wherever it cannot prove that two
arrays do not overlap.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.extending import intrinsic, register_model

LANES = 8


class Lanes(types.Type):
    """The numba type of a vector of `LANES` numbers of type `dtype`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        super().__init__(dmm, fe_type, _vector(fe_type.dtype))


def _element(dtype: Any) -> ir.Type:
    return ir.FloatType() if dtype is types.float32 else ir.DoubleType()


def _vector(dtype: Any) -> ir.VectorType:
    return ir.VectorType(_element(dtype), LANES)


def constant(vector: ir.VectorType, value: float | int) -> ir.Constant:
    """Return the LLVM constant with `value` in every lane."""
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * LANES)


def spread(builder: ir.IRBuilder, scalar: ir.Value) -> ir.Value:
    """Return the LLVM vector with `scalar` in every lane."""
    vector = ir.VectorType(scalar.type, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)


def fused_multiply_add(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Return a * b + c, fused where the machine can."""
    name = f"llvm.fmuladd.v{LANES}{'f32' if isinstance(a.type.element, ir.FloatType) else 'f64'}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type] * 3), name)
    return builder.call(function, [a, b, c])


def data_of(context: Any, builder: ir.IRBuilder, array: Any, value: ir.Value) -> ir.Value:
    """Return the address of the first element of an array, or the pointer itself."""
    return value if isinstance(array, types.CPointer) else context.make_array(array)(context, builder, value).data


def _address(context: Any, builder: ir.IRBuilder, array: Any, value: ir.Value, index: ir.Value) -> ir.Value:
    data = data_of(context, builder, array, value)
    first = builder.gep(data, [builder.mul(index, ir.Constant(index.type, LANES))])
    return builder.bitcast(first, _vector(array.dtype).as_pointer())


def _align(array: Any) -> int:
    return array.dtype.bitwidth // 8


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """Return vector `index` of `array`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, array, *arguments), align=_align(array))

    return Lanes(array.dtype)(array, types.int64), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Make `value` vector `index` of `array`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, array, *arguments[:2]), align=_align(array))
        return context.get_dummy_value()

    return types.void(array, types.int64, value), codegen


@intrinsic
def splat(typing: Any, number: Any, like: Any) -> Any:
    """Return the vector with `number` in every lane, of the type of the elements of `like`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return spread(builder, arguments[0])

    return Lanes(like.dtype)(like.dtype, like), codegen


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return fused_multiply_add(builder, *arguments)

    return a(a, b, c), codegen


@intrinsic
def noinline(typing: Any) -> Any:
    """Prevent inlining of the calling function: inlined at every call site, the products take minutes to compile."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def inline(typing: Any) -> Any:
    """Force inlining of the calling function: its arguments are too many to be passed for every tile of a graph."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("alwaysinline")
        return context.get_dummy_value()

    return types.void(), codegen


def _binary(name: str, emit: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]) -> Any:
    def operation(typing: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, *arguments)

        return a(a, b), codegen

    operation.__name__ = name
    return intrinsic(operation)


add = _binary("add", lambda builder, a, b: builder.fadd(a, b))
sub = _binary("sub", lambda builder, a, b: builder.fsub(a, b))
mul = _binary("mul", lambda builder, a, b: builder.fmul(a, b))
div = _binary("div", lambda builder, a, b: builder.fdiv(a, b))
# Where b is NaN the result is a: a score that is NaN makes its weight NaN, not the maximum of its row.
maximum = _binary("maximum", lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), b, a))


@intrinsic
def where_negative(typing: Any, x: Any, a: Any, b: Any) -> Any:
    """Return a in the lanes where x is below 0, and b elsewhere, also where x is NaN."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, yes, no = arguments
        return builder.select(builder.fcmp_ordered("<", value, constant(value.type, 0.0)), yes, no)

    return a(x, a, b), codegen


@intrinsic
def total(typing: Any, x: Any) -> Any:
    """Return the sum of the lanes, a number."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        lanes = [builder.extract_element(value, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
        while len(lanes) > 1:
            lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return x.dtype(x), codegen
