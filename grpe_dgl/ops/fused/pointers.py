"""The arrays of a kernel as pointers, without their reference counts.

numba counts the references to every array of a tuple whenever the tuple is passed to a function. Small graphs lose more
than a tenth of their time to that, so a kernel takes the pointers of its arrays once, passes those on, and keeps the
arrays until it ends.
"""

from typing import Any, get_type_hints

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from grpe_dgl.ops.fused.lanes import data_of


def plain(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a named tuple, and the named tuples in it, as plain ones, whose types numba finds out much faster."""
    return tuple([plain(item) if isinstance(item, tuple) else item for item in value])


def _pointer_type(kind: Any, names: Any) -> Any:
    """Return the numba type with pointers for arrays; of tuples, with the names of the `NamedTuple` class `names`."""
    if isinstance(kind, types.Array):
        return types.CPointer(kind.dtype)
    if isinstance(kind, types.BaseTuple):
        fields = zip(_items(kind), get_type_hints(names).values(), strict=True)
        return types.BaseTuple.from_types([_pointer_type(item, field) for item, field in fields], names)
    return kind


def _items(kind: Any) -> list[Any]:
    """Return the types of a tuple's items."""
    return list(kind)


@intrinsic
def pointers(typing: Any, arrays: Any, names: Any) -> Any:
    """Return a tuple in which every array, also of the tuples in it, is replaced by a pointer to its first element.

    The result is of the `NamedTuple` class `names`, and the tuples in it of the classes of its annotations, so that
    `arrays` may be plain tuples.
    """
    result = _pointer_type(arrays, names.instance_class)

    def convert(context: Any, builder: ir.IRBuilder, kind: Any, to: Any, value: ir.Value) -> ir.Value:
        if isinstance(kind, types.Array):
            return data_of(context, builder, kind, value)
        if isinstance(kind, types.BaseTuple):
            items = [
                convert(context, builder, item, to_item, builder.extract_value(value, index))
                for index, (item, to_item) in enumerate(zip(_items(kind), _items(to), strict=True))
            ]
            return context.make_tuple(builder, to, items)
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
