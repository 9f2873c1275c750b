"""The arrays of a kernel as pointers, without their reference counts.

A tensor is given as the address of its first element: making a numpy array of every tensor, and unpacking it again in
the kernel, takes small batches longer than the arithmetic of some layers.

numba counts the references to every array of a tuple whenever the tuple is passed to a function. Small graphs lose more
than a tenth of their time to that, so a kernel takes the pointers of its arrays once, passes those on, and keeps the
arrays until it ends.
"""

from typing import Any, get_type_hints

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from grpe_dgl.ops.fused.arguments import Flat
from grpe_dgl.ops.fused.lanes import data_of


def plain(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a named tuple, and the named tuples in it, as plain ones, whose types numba finds out much faster."""
    return tuple([plain(item) if isinstance(item, tuple) else item for item in value])


def _pointer_type(kind: Any, names: Any, dtype: Any) -> Any:
    """Return the numba type with pointers for arrays and addresses; of tuples, with the names of the class `names`."""
    if isinstance(kind, types.Array):
        return types.CPointer(kind.dtype)
    if isinstance(kind, types.Integer) and names == Flat:
        return types.CPointer(dtype)
    if isinstance(kind, types.BaseTuple):
        fields = zip(_items(kind), get_type_hints(names).values(), strict=True)
        return types.BaseTuple.from_types([_pointer_type(item, field, dtype) for item, field in fields], names)
    return kind


def _element_type(kind: Any) -> Any:
    """Return the type of the elements of the first array of floating-point numbers, or None."""
    if isinstance(kind, types.Array):
        return kind.dtype if isinstance(kind.dtype, types.Float) else None
    found = (_element_type(item) for item in _items(kind)) if isinstance(kind, types.BaseTuple) else ()
    return next((dtype for dtype in found if dtype is not None), None)


def _items(kind: Any) -> list[Any]:
    """Return the types of a tuple's items."""
    return list(kind)


@intrinsic
def pointers(typing: Any, arrays: Any, names: Any) -> Any:
    """Return a tuple in which every array, also of the tuples in it, is replaced by a pointer to its first element.

    The result is of the `NamedTuple` class `names`, and the tuples in it of the classes of its annotations, so that
    `arrays` may be plain tuples. A field annotated as `Flat` may have an address instead of an array; its elements are
    then of the type of the first array of floating-point numbers.
    """
    result = _pointer_type(arrays, names.instance_class, _element_type(arrays))

    def convert(context: Any, builder: ir.IRBuilder, kind: Any, to: Any, value: ir.Value) -> ir.Value:
        if isinstance(kind, types.Array):
            return data_of(context, builder, kind, value)
        if isinstance(kind, types.BaseTuple):
            items = [
                convert(context, builder, item, to_item, builder.extract_value(value, index))
                for index, (item, to_item) in enumerate(zip(_items(kind), _items(to), strict=True))
            ]
            return context.make_tuple(builder, to, items)
        if isinstance(to, types.CPointer):
            return builder.inttoptr(value, context.get_value_type(to))
        return value

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return convert(context, builder, arrays, result, arguments[0])

    return result(arrays, names), codegen


@intrinsic
def dtype_of(typing: Any, pointer: Any) -> Any:
    """Return the type of the elements, for ``numpy.empty``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.DType(pointer.dtype)(pointer), codegen


@intrinsic
def keep_alive(typing: Any, arrays: Any) -> Any:
    """Do nothing, after the last use of the arrays' pointers: numba frees an array after its own last use."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(arrays), codegen


@intrinsic
def advance(typing: Any, pointer: Any, elements: Any) -> Any:
    """Return a pointer to an element further on."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), codegen
